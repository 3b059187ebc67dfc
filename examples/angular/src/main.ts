import { bootstrapApplication } from "@angular/platform-browser";
import { provideRouter } from "@angular/router";
import { Turnout } from "@turnout/client";
import { App } from "./app/app";
import { routes } from "./app/routes";

// Without an address: the server that the page comes from. In development that is the proxy (proxy.conf.json).
const turnout = { provide: Turnout, useFactory: () => new Turnout() };

bootstrapApplication(App, { providers: [provideRouter(routes), turnout] }).catch((error) => console.error(error));
