import { Component, computed } from "@angular/core";
import { RouterLink, RouterLinkActive, RouterOutlet } from "@angular/router";
import { liveTable } from "./live-table";
import { StatusLine } from "./status-line";
import { SwitchForm } from "./switch-form";
import { STATUS, type StatusRow } from "./tables";

/** The frame around both pages: what is shown, whether it is live, and the form to show something else. */
@Component({
  selector: "app-root",
  imports: [RouterLink, RouterLinkActive, RouterOutlet, StatusLine, SwitchForm],
  template: `
    <header>
      <div class="bar">
        <h1>Turnout in Angular</h1>
        <nav aria-label="Pages">
          <a routerLink="/" routerLinkActive="here" ariaCurrentWhenActive="page" [routerLinkActiveOptions]="{ exact: true }"
            >Rows</a
          >
          <a routerLink="/viewer" routerLinkActive="here" ariaCurrentWhenActive="page">Viewer</a>
        </nav>
        @if (status(); as row) {
          <app-status-line [row]="row" />
        }
      </div>
      <app-switch-form [current]="status()" />
    </header>
    <p class="notice" role="status">
      @if (lost()) {
        <span><b aria-hidden="true">↻</b> Connection lost, reconnecting… What you see is what was known last.</span>
      }
    </p>
    <main>
      <router-outlet />
    </main>
  `,
  styleUrl: "./app.css",
})
export class App {
  private readonly table = liveTable<StatusRow>(STATUS);
  protected readonly status = computed(() => this.table.rows().at(0));
  protected readonly lost = computed(() => this.table.connection().state === "lost");
}
