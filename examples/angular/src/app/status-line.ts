import { Component, computed, input } from "@angular/core";
import type { StatusRow } from "./tables";

const MARKS: Readonly<Record<string, string>> = { live: "●", degraded: "▲", stopped: "■" };

/** The one row of the status table. A state has a mark, a word and a colour. */
@Component({
  selector: "app-status-line",
  template: `
    <p>
      <b class="state" [attr.data-state]="row().state"
        ><span aria-hidden="true">{{ mark() }}</span> {{ row().state }}</b
      >
      <span class="join">
        <code>{{ row().usersTopic }}</code> {{ row().joinType }} join <code>{{ row().accountsTopic }}</code>
      </span>
      <span class="generation">generation {{ row().generation }}</span>
    </p>
  `,
  styles: `
    p {
      display: flex;
      flex-wrap: wrap;
      align-items: center;
      gap: 4px 16px;
    }
    .state {
      color: var(--busy);
    }
    .state[data-state="live"] {
      color: var(--good);
    }
    .state[data-state="degraded"],
    .state[data-state="stopped"] {
      color: var(--bad);
    }
    code {
      padding: 2px 7px;
      border-radius: 5px;
      background: var(--chip);
      font: inherit;
      font-weight: 550;
    }
    .generation {
      color: var(--quiet);
    }
  `,
})
export class StatusLine {
  readonly row = input.required<StatusRow>();
  protected readonly mark = computed(() => MARKS[this.row().state] ?? "◌");
}
