import { Component, inject, input, signal } from "@angular/core";
import { type JoinType, SwitchRejected, Turnout } from "@turnout/client";
import type { StatusRow } from "./tables";

interface Said {
  readonly kind: "busy" | "done" | "refused";
  readonly text: string;
}

/** Shows other topics or another join type. A field that is left empty keeps what it has. */
@Component({
  selector: "app-switch-form",
  template: `
    <form autocomplete="off" (submit)="send($event, form)" #form>
      <label>Users topic <input name="usersTopic" spellcheck="false" [placeholder]="current()?.usersTopic ?? ''" /></label>
      <label
        >Accounts topic <input name="accountsTopic" spellcheck="false" [placeholder]="current()?.accountsTopic ?? ''"
      /></label>
      <label
        >Join type
        <select name="joinType">
          <option value="">keep {{ current()?.joinType }}</option>
          @for (join of joins; track join) {
            <option>{{ join }}</option>
          }
        </select>
      </label>
      <button type="submit" [disabled]="busy()">Switch</button>
      <p role="status">
        @if (said(); as it) {
          <span [attr.data-kind]="it.kind"><span aria-hidden="true">{{ marks[it.kind] }}</span> {{ it.text }}</span>
        }
      </p>
    </form>
  `,
  styleUrl: "./switch-form.css",
})
export class SwitchForm {
  readonly current = input<StatusRow>();
  protected readonly joins: readonly JoinType[] = ["left", "inner", "right", "full", "semi", "anti"];
  protected readonly marks = { busy: "◌", done: "✓", refused: "✗" };
  protected readonly busy = signal(false);
  protected readonly said = signal<Said | undefined>(undefined);
  private readonly turnout = inject(Turnout);

  protected async send(event: Event, form: HTMLFormElement): Promise<void> {
    event.preventDefault();
    const fields = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()] as const);
    const filled = fields.filter(([, value]) => value !== "");
    this.busy.set(true);
    this.said.set({ kind: "busy", text: "Switching…" });
    try {
      const { outcome } = await this.turnout.switch(Object.fromEntries(filled));
      this.said.set({ kind: "done", text: `The switch: ${outcome}` });
      form.reset();
    } catch (error) {
      const reason = error instanceof SwitchRejected ? `Rejected: ${error.reason}` : `Not sent: ${error}`;
      this.said.set({ kind: "refused", text: reason });
    } finally {
      this.busy.set(false);
    }
  }
}
