import { HttpApiClient } from "effect/http-api"
import { ConsoleApi } from "../../ConsoleApi.ts"
import { csrfToken } from "../session/session.ts"
import { clientOptions, connected } from "./connection.ts"

export type ConsoleClient = HttpApiClient.ForApi<typeof ConsoleApi>

/** The client of the whole interface. Pages load it late, through `ask`. */
export const consoleClient: ConsoleClient = connected(
  HttpApiClient.make(ConsoleApi, clientOptions(csrfToken))
)
