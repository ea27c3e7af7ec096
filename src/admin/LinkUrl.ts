import { Effect, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { AppConfig } from "../settings/AppConfig.ts"

/** The port of the service; the one of the settings may be 0. */
const portOf = ({ address }: HttpServer.HttpServer["Service"], fallback: number): number =>
  address._tag !== "UnixPathAddress" ? address.port : fallback

/** Where browsers reach the web application, without a slash at the end. */
export const applicationUrl = Effect.gen(function* () {
  const { console, http } = yield* AppConfig
  const server = yield* HttpServer.HttpServer
  return console.publicUrl ?? `http://localhost:${portOf(server, http.port)}`
})

/** The address of a link. Browsers send nothing behind the # to a server, so that no log on the way has the token. */
export const linkUrl = (application: string, token: Redacted.Redacted): string =>
  `${application}/link#${Redacted.value(token)}`
