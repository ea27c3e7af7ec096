import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { pathOf } from "./Routes.ts"

/** The interfaces of programs, which get JSON whatever they accept. */
const interfacePath = /^\/(v1|openai|anthropic|admin|console)(\/|$)/i

const htmlType = /^\s*text\/html\s*(?:;|$)/i
const refusedType = /;\s*q=0(?:\.0*)?\s*(?:;|$)/i

/** True if a person at a browser asks for a page. */
export const wantsPage = ({ headers, method, url }: HttpServerRequest.HttpServerRequest): boolean =>
  (method === "GET" || method === "HEAD") &&
  !interfacePath.test(pathOf(url)) &&
  (headers["accept"] ?? "").split(",").some((type) => htmlType.test(type) && !refusedType.test(type))

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The colors and the shape of the web application, which is not loaded. */
const pageBelow = (basePath: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Page not found · Parley</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark }
body { margin: 0; padding: 1.5rem; min-height: 80vh; display: grid; place-content: center; text-align: center;
  font: 1rem/1.5 system-ui, sans-serif; background: light-dark(#f6f7f9, #0f1216); color: light-dark(#161a20, #e9ecf0) }
h1 { margin: 0; font-size: 1.5rem; font-weight: 600 }
p { margin: .5rem 0 1.5rem }
a { justify-self: center; padding: .5rem 1rem; border-radius: .5rem; text-decoration: none; font-weight: 500;
  background: light-dark(#3a55c8, #93a8ff); color: light-dark(#fff, #101631) }
</style>
<main>
<h1>Page not found</h1>
<p>There is no page at this address.</p>
<a href="${escaped(basePath)}">Go to the home page</a>
</main>
`

/** The page for an address without a page, below the path where a proxy may have put the service. */
export const makeNotFoundPage = (basePath: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(pageBelow(basePath), {
    status: 404,
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": policy,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      vary: "accept",
      "x-content-type-options": "nosniff"
    }
  })
