import { Effect } from "effect"
import { Digest } from "effect/crypto"
import { Hex } from "effect/encoding"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiScalar } from "effect/http-api"
import * as Refusal from "../api/Refusal.ts"
import { respond } from "./ErrorBoundary.ts"
import { verdictOf } from "./Preconditions.ts"

/**
 * The page talks to this service alone. Scalar sets styles from its script, and draws its icons from data
 * URLs.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const headers = {
  "content-security-policy": policy,
  "cache-control": "no-cache",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer"
}

/** All its addresses are relative, so that it works below any prefix of a proxy. */
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif }
#ask { max-width: 36rem; margin: 15vh auto 0; padding: 0 1.25rem }
label { display: block; font-weight: 600 }
input, button { font: inherit; padding: .4rem .7rem; max-width: 100% }
input { width: 24rem; -webkit-text-security: disc }
</style>
<script src="docs/reference.js" defer></script>
<form id="ask">
<h1>API reference</h1>
<div id="fields" hidden>
<label for="key">API key</label>
<input id="key" autocomplete="off" autocapitalize="none" spellcheck="false">
<button>Show the reference</button>
<p>Any API key of this service opens it; <code>parley key create</code> prints one. It is sent to this service only, and is not kept.</p>
</div>
<p id="status" role="status">Loading…</p>
<noscript>This page needs JavaScript. The interface is described by the OpenAPI document at <code>openapi.json</code>.</noscript>
</form>
<div id="reference"></div>
`

/** Asks for the document, and for a key if there must be one, and hands the document to Scalar. */
const script = String.raw`
;(() => {
const fetchSeconds = 20
const byId = (id) => document.getElementById(id)
const say = (text) => { byId("status").textContent = text }
const show = (content) => {
  const schemes = content.components?.securitySchemes ?? {}
  // Scalar knows the schemes of HTTP in lower case only.
  for (const each of Object.values(schemes)) each.scheme = each.scheme?.toLowerCase()
  // Without an example it fills every field with something, and no such body is valid.
  const body = content.paths["/v1/responses"]?.post?.requestBody?.content?.["application/json"]
  if (body) body.example ??= { input: "Hello!" }
  // The key goes with its field.
  byId("ask").remove()
  document.title = content.info.title
  Scalar.createApiReference(byId("reference"), {
    content: { ...content, servers: [{ url: new URL(".", location.href).href.replace(/\/$/, "") }] },
    authentication: { preferredSecurityScheme: Object.keys(schemes)[0] },
    persistAuth: false, withDefaultFonts: false, telemetry: false,
    showDeveloperTools: "never", hideClientButton: true, hideTestRequestButton: true
  })
}
const load = async (key) => {
  say("Loading…")
  const answer = await fetch("openapi.json", {
    headers: key === "" ? {} : { authorization: "Bearer " + key },
    credentials: "omit", cache: "no-store", redirect: "error", signal: AbortSignal.timeout(fetchSeconds * 1000)
  }).catch(() => undefined)
  const content = await answer?.json().catch(() => undefined)
  if (answer?.ok && content?.info && content.paths) return show(content)
  byId("fields").hidden = false
  byId("key").focus()
  if (!answer) return say("The service could not be reached. Try again.")
  if (answer.status === 401 && key === "") return say("The description of this interface needs an API key.")
  say(content?.error?.message ?? "The answer has status " + answer.status + " and is no OpenAPI document.")
}
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault()
  const key = byId("key").value.trim()
  return /^[\x21-\x7e]+$/.test(key) ? load(key) : say("This is not an API key: it is empty, or has characters that no key has.")
})
return load("")
})()
`

/** The script of Scalar, which Effect offers only as a part of a page that also holds the document. */
const scalarScript = Effect.gen(function* () {
  const render = yield* HttpRouter.toHttpEffect(HttpApiScalar.layer(HttpApi.make("reference")))
  const request = HttpServerRequest.fromWeb(new Request("http://localhost/docs"))
  const response = yield* Effect.provideService(render, HttpServerRequest.HttpServerRequest, request)
  const html = yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
  const found = /<script>([^]*?)<\/script>/.exec(html)?.[1]
  return found ?? (yield* Effect.die(new Error("The page of HttpApiScalar has no script in it.")))
}).pipe(Effect.scoped)

export const ReferencePage = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const digest = yield* Digest.Digest
    // Made when it is first asked for, as it takes megabytes of memory.
    const asset = yield* Effect.cached(
      Effect.gen(function* () {
        const bytes = new TextEncoder().encode((yield* scalarScript) + script)
        return { bytes, etag: `"${Hex.encode(yield* digest.digest(Digest.sha256, bytes))}"` }
      })
    )
    const html = HttpServerResponse.text(page, { contentType: "text/html; charset=utf-8", headers })
    yield* router.add("GET", "/docs", ({ url }) =>
      // Its relative addresses would lead elsewhere.
      Effect.succeed(/^[^?]*\/(\?|$)/.test(url) ? HttpServerResponse.redirect("../docs") : html)
    )
    const served = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const { bytes, etag } = yield* asset
      const tagged = { ...headers, etag }
      const verdict = verdictOf(request.headers, { etag, modifiedAt: null })
      if (verdict === "refuse") return respond(Refusal.preconditionFailed)
      return verdict === "unchanged"
        ? HttpServerResponse.empty({ status: 304, headers: tagged })
        : HttpServerResponse.uint8Array(bytes, {
            contentType: "text/javascript; charset=utf-8",
            headers: tagged
          })
    })
    yield* router.add("GET", "/docs/reference.js", served)
  })
)
