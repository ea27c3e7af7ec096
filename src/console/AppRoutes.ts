import { Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Refusal from "../api/Refusal.ts"
import { respond } from "../http/ErrorBoundary.ts"
import { verdictOf } from "../http/Preconditions.ts"
import { pathOf, route } from "../http/Routes.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { chooseCoding, type Coding } from "./AcceptEncoding.ts"
import { type AppFile, AppFiles, represented, type Representation } from "./AppFiles.ts"
import { pagePaths } from "./PagePaths.ts"

/** Scripts, styles, images and requests of this service alone, and nothing inline. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

/** Features that the application never uses; its pages copy to the clipboard. */
const refusedFeatures = [
  "accelerometer",
  "autoplay",
  "camera",
  "clipboard-read",
  "display-capture",
  "encrypted-media",
  "fullscreen",
  "gamepad",
  "geolocation",
  "gyroscope",
  "hid",
  "idle-detection",
  "local-fonts",
  "magnetometer",
  "microphone",
  "midi",
  "payment",
  "picture-in-picture",
  "publickey-credentials-create",
  "publickey-credentials-get",
  "screen-wake-lock",
  "serial",
  "storage-access",
  "usb",
  "xr-spatial-tracking"
]

const fileHeaders = {
  "content-security-policy": policy,
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

const pageHeaders = {
  ...fileHeaders,
  "cache-control": "no-cache",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": ["clipboard-write=(self)", ...refusedFeatures.map((feature) => `${feature}=()`)].join(
    ", "
  )
}

const html = "text/html; charset=utf-8"

/** Names of assets contain a hash of their content. */
const assetHeaders = { ...fileHeaders, "cache-control": "public, max-age=31536000, immutable" }
const besideHeaders = { ...fileHeaders, "cache-control": "no-cache" }

/**
 * Files beside the page that browsers and crawlers ask for by these names; 404 where the build lacks them.
 */
const besideNames = ["favicon.ico", "icon.svg", "robots.txt"]

const pageTemplates = Object.values(pagePaths).map(
  (path: string): `/${string}` => `/${path.slice(1).replaceAll("$", ":")}`
)

/** Routes for the error boundary: all files of `assets` are one route. */
export const appRoutes = [...pageTemplates, "/assets/:name", ...besideNames.map((name) => `/${name}`)].map(
  (template) => route("GET", template)
)

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")

const baseElement = /<base href="[^"]*"/

/** All addresses in the page are relative to its base, below which a reverse proxy may put the service. */
export const pageBelow = (page: string, basePath: string): string =>
  page.replace(baseElement, () => `<base href="${escaped(basePath)}"`)

/** The page in place of the application while there is no build of it. */
const unbuiltPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<base href="/">
<title>Parley</title>
<h1>Parley is running</h1>
<p>Its web application is not built. <code>npm run build</code> builds it; it is served after a restart of the service. <code>npm
start</code> does both. If it has been built, the log of the service says why it can't be served.</p>
<p>The <a href="docs">API reference</a> and the command line, <code>parley</code>, work without it.</p>
`

const answer = (
  request: HttpServerRequest.HttpServerRequest,
  { bytes, etag: etagOf }: Representation,
  contentType: string,
  headers: Readonly<Record<string, string>>
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(etagOf, (etag) => {
    const verdict = verdictOf(request.headers, { etag, modifiedAt: null })
    if (verdict === "refuse") return respond(Refusal.preconditionFailed)
    return verdict === "unchanged"
      ? HttpServerResponse.empty({ status: 304, headers: { ...headers, etag } })
      : HttpServerResponse.uint8Array(bytes, { contentType, headers: { ...headers, etag } })
  })

const codingHeader = (coding: Coding) => (coding === "identity" ? {} : { "content-encoding": coding })

const serveFile = (
  request: HttpServerRequest.HttpServerRequest,
  file: AppFile | null,
  headers: Readonly<Record<string, string>>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  if (file === null) return Effect.succeed(respond(Refusal.unknownRoute(request.method, pathOf(request.url))))
  const coding = chooseCoding(request.headers["accept-encoding"], file.representations)
  const chosen = coding === null ? undefined : file.representations.get(coding)
  if (coding === null || chosen === undefined) return Effect.succeed(respond(Refusal.codingNotAcceptable))
  return answer(request, chosen, file.contentType, {
    ...headers,
    ...codingHeader(coding),
    vary: "accept-encoding"
  })
}

/**
 * The last segment of the path, as it came: names of files need no encoding, so an encoded one names no file.
 */
const nameIn = (request: HttpServerRequest.HttpServerRequest): string =>
  pathOf(request.url).replace(/^\/assets\//, "")

/** The web application: its page at the paths of all pages, and the files that the page loads. */
export const AppRoutes = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const files = yield* AppFiles
    const { basePath } = (yield* AppConfig).console
    const text = pageBelow(files.page ?? unbuiltPage, basePath)
    const page = represented(yield* Digest.Digest, new TextEncoder().encode(text))
    for (const template of pageTemplates) {
      yield* router.add("GET", template, (request) => answer(request, page, html, pageHeaders))
    }
    yield* router.add("GET", "/assets/*", (request) =>
      serveFile(request, files.asset(nameIn(request)), assetHeaders)
    )
    for (const name of besideNames) {
      yield* router.add("GET", `/${name}`, (request) => serveFile(request, files.beside(name), besideHeaders))
    }
  })
).pipe(Layer.provide(AppFiles.layer))
