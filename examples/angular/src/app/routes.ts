import type { Routes } from "@angular/router";
import { RowsPage } from "./rows/rows-page";

export const routes: Routes = [
  { path: "", component: RowsPage, title: "Rows · Turnout in Angular" },
  {
    path: "viewer",
    // Its own bundle: whoever never opens it does not load it.
    loadComponent: () => import("./perspective/viewer-page").then((page) => page.ViewerPage),
    title: "Viewer · Turnout in Angular",
  },
  { path: "**", redirectTo: "" },
];
