import { Context } from "effect"
import type { KnownSession } from "../domain/Session.ts"

/** The session of a request to the web application, and its user. */
export class CurrentSession extends Context.Service<CurrentSession, KnownSession>()(
  "parley/console/CurrentSession"
) {}
