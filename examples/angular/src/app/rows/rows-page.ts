import { CdkFixedSizeVirtualScroll, CdkVirtualForOf, CdkVirtualScrollViewport } from "@angular/cdk/scrolling";
import { DecimalPipe } from "@angular/common";
import { Component, computed, signal } from "@angular/core";
import type { Live } from "@turnout/client";
import { liveTable } from "../live-table";
import { FINAL, type FinalRow } from "../tables";
import { matching, type Order, sorted } from "./arranging";

interface Column {
  readonly name: keyof FinalRow;
  readonly title: string;
  readonly number?: boolean;
}

const FOUR_TIMES_A_SECOND = 250; // people cannot read faster, and sorting 100,000 rows is work

/** The joined rows, live. Only those that are in sight are drawn; filter, order and scroll position stay as they are. */
@Component({
  selector: "app-rows-page",
  imports: [CdkFixedSizeVirtualScroll, CdkVirtualForOf, CdkVirtualScrollViewport, DecimalPipe],
  templateUrl: "./rows-page.html",
  styleUrl: "./rows-page.css",
})
export class RowsPage {
  protected readonly columns: readonly Column[] = [
    { name: "userId", title: "User" },
    { name: "name", title: "Name" },
    { name: "email", title: "Email" },
    { name: "age", title: "Age", number: true },
    { name: "accountType", title: "Account" },
    { name: "balance", title: "Balance", number: true },
  ];
  protected readonly table = liveTable<FinalRow>(FINAL, FOUR_TIMES_A_SECOND);
  protected readonly wanted = signal("");
  protected readonly order = signal<Order<FinalRow>>({ by: "userId", down: false });
  protected readonly shown = computed(() => sorted(matching(this.table.rows(), this.wanted()), this.order()));

  protected sortBy(by: keyof FinalRow): void {
    this.order.update((order) => ({ by, down: order.by === by && !order.down }));
  }

  protected direction(name: keyof FinalRow): "ascending" | "descending" | "none" {
    const { by, down } = this.order();
    if (by !== name) return "none";
    return down ? "descending" : "ascending";
  }

  protected readonly idOf = (_: number, row: Live<FinalRow>) => row._row;
}
