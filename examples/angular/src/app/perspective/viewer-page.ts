import {
  afterNextRender,
  Component,
  CUSTOM_ELEMENTS_SCHEMA,
  DestroyRef,
  type ElementRef,
  inject,
  signal,
  viewChild,
} from "@angular/core";
import { type Connection, Turnout } from "@turnout/client";
import { FINAL, FINAL_COLUMNS, type FinalRow, STATUS } from "../tables";
import { perspective, type Viewer } from "./perspective";
import { open } from "./socket";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

/** The same table in `<perspective-viewer>`: filter, group, pivot, charts. It keeps all of that when it reconnects. */
@Component({
  selector: "app-viewer-page",
  schemas: [CUSTOM_ELEMENTS_SCHEMA],
  template: `
    @if (problem()) {
      <p role="alert">{{ problem() }}</p>
    }
    <perspective-viewer #viewer></perspective-viewer>
  `,
  styles: `
    :host {
      flex: 1;
      display: flex;
      flex-direction: column;
      min-width: 0;
      padding: 14px 20px 20px;
    }
    perspective-viewer {
      flex: 1;
      border: 1px solid var(--line);
      border-radius: 8px;
      overflow: hidden;
    }
  `,
})
export class ViewerPage {
  protected readonly problem = signal("");
  private readonly element = viewChild.required<ElementRef<Viewer>>("viewer");
  private readonly turnout = inject(Turnout);
  private readonly table = this.turnout.table<FinalRow>(FINAL);
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private readonly left = new AbortController();
  private wake = () => {};

  constructor() {
    inject(DestroyRef).onDestroy(() => this.left.abort());
    const onState = ({ state }: Connection) => state === "connected" && this.wake();
    this.turnout.table(STATUS).subscribe(() => {}, { onState, signal: this.left.signal });
    this.left.signal.addEventListener("abort", () => this.wake());
    afterNextRender(() => this.show().catch((error) => this.problem.set(`The viewer cannot start: ${error}`)));
  }

  /** Shows the table until the page is left, and connects again whenever the connection is lost. */
  private async show(): Promise<void> {
    const viewer = this.element().nativeElement;
    const { signal } = this.left;
    this.dark.addEventListener("change", () => viewer.restore({ theme: this.theme() }), { signal });
    const Client = await perspective();
    let config: object = { table: FINAL, title: FINAL, columns: FINAL_COLUMNS, theme: this.theme() };
    let loaded = false;
    for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        const link = await open(Client, signal);
        await link.client.get_hosted_table_names(); // it works: only now give up what is shown
        if (loaded) {
          await this.somethingToShow();
          await viewer.eject();
        }
        loaded = true;
        await viewer.load(link.client);
        await viewer.restore(config);
        pause = FIRST_PAUSE_MS;
        await link.closed;
        config = await viewer.save(); // as somebody has arranged it; that needs no connection
      } catch (error) {
        console.debug("not connected:", error);
      }
      await this.pause(pause);
    }
  }

  /** A server that has just been started shows nothing yet: what is on the screen stays until it does. */
  private async somethingToShow(): Promise<void> {
    while (!this.left.signal.aborted && (await this.table.rows({ limit: 1 })).generation === 0) {
      await this.pause(FIRST_PAUSE_MS);
    }
  }

  private theme(): string {
    return this.dark.matches ? "Pro Dark" : "Pro Light";
  }

  /** No longer than until the client of the other tables is connected again: it notices when there is reason to hope. */
  private pause(ms: number): Promise<void> {
    return new Promise((done) => {
      setTimeout(done, ms);
      this.wake = done;
    });
  }
}
