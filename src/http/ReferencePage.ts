/**
 * A readable reference of the interface: one HTML document that fetches `/openapi.json` from the service it came from
 * and talks to nobody else. It works under a policy that allows inline style, inline script and `connect-src 'self'`.
 * Whatever it shows of the document becomes a text node, never markup, and an API key typed into it stays in memory.
 *
 * Over 300 lines, because the page has to be one document: its style, its script and its frame stand in this order.
 */

const style = `
:root {
  color-scheme: light dark;
  --ground: #fff; --panel: #f6f7f9; --line: #dfe3e8; --text: #1c2128; --quiet: #59636e; --accent: #0b5cad;
  --warning: #a33a00; --success: #1a6b3c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --panel: #1c2026; --line: #333a43; --text: #e3e7ec; --quiet: #9aa5b1; --accent: #79b8ff;
    --warning: #ffa66b; --success: #6fd08c;
  }
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100% }
body {
  margin: 0 auto; max-width: 76rem; padding: 0 1.25rem 4rem; background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word;
}
code, pre { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
p code, td p code { background: var(--panel); border-radius: 4px; padding: .1em .3em }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 2.5rem 0 .5rem }
h2 { font-size: 1.3rem; margin: 3rem 0 .5rem; padding-bottom: .4rem; border-bottom: 1px solid var(--line) }
h3 { font-size: 1.05rem; margin: 2.25rem 0 .25rem }
h4 { font-size: .8rem; letter-spacing: .04em; text-transform: uppercase; color: var(--quiet); margin: 1.75rem 0 .5rem }
p { margin: .35rem 0; max-width: 46rem }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 2px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px }
h1:focus { outline: none }
.quiet { color: var(--quiet) }
.skip { position: absolute; left: -99rem }
.skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .5rem }
.version { font-size: .875rem; font-weight: 400; color: var(--quiet); margin-left: .5rem; white-space: nowrap }
.route { font: 600 1rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere }
.method { color: var(--success); margin-right: .5rem }
.status { font-weight: 600; color: var(--warning); margin-right: .5rem }
.status.fine { color: var(--success) }
nav { font-size: .9rem }
nav ul { list-style: none; margin: .25rem 0 1rem; padding: 0 }
nav li { overflow-wrap: anywhere }
nav a { display: block; padding: .2rem 0; color: inherit; text-decoration: none }
nav a:hover { color: var(--accent); text-decoration: underline }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; max-width: 100% }
summary { cursor: pointer; padding: .45rem .75rem; overflow-wrap: anywhere }
summary:hover { background: var(--panel) }
details[open] > summary { border-bottom: 1px solid var(--line) }
.inside { padding: .5rem .75rem .75rem }
td details { font-size: .95em }
table { width: 100%; border-collapse: collapse; font-size: .925rem }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-top: 1px solid var(--line) }
tr:first-child > * { border-top: 0 }
th { font-weight: 400; width: 32%; min-width: 9rem; overflow-wrap: anywhere }
th code { font-weight: 600 }
.required { font-size: .8rem; color: var(--quiet); margin-left: .4rem }
.curl { position: relative }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem; margin: 0; overflow-x: auto }
input, button { font: inherit; color: inherit; padding: .45rem .75rem; border: 1px solid var(--line); border-radius: 6px }
input { background: var(--ground); width: 24rem; max-width: 100%; -webkit-text-security: disc }
button { background: var(--panel); cursor: pointer }
.curl button { position: absolute; right: .4rem; top: .4rem; font-size: .8rem; padding: .2rem .55rem }
form { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 1.25rem; max-width: 40rem; margin: 1.5rem 0 }
form label { display: block; font-weight: 600; margin-bottom: .35rem }
form div { display: flex; flex-wrap: wrap; gap: .5rem }
#status:empty, [hidden] { display: none }
#status.refused { color: var(--warning) }
@media (min-width: 60rem) {
  .columns { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 3rem }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 2.75rem .25rem 2rem; align-self: start }
  nav > details { border: 0 }
  nav > details > summary { display: none }
}
@media (max-width: 32rem) {
  body { padding: 0 1rem 3rem }
  tr, th, td { display: block; width: auto }
  th { padding-bottom: 0 }
  td { border-top: 0; padding-top: .1rem }
}`

// No template literals in here, since the whole is one; String.raw keeps the backslashes.
const script = String.raw`"use strict"
const fetchSeconds = 20
const sampleDepthMax = 8
const referenceHopsMax = 8
const openFieldsMax = 10
const schemaPrefix = "#/components/schemas/"
const byId = (id) => document.getElementById(id)

/** Strings among the children become text nodes. */
const el = (tag, attributes, ...children) => {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  node.append(...children.flat(Infinity))
  return node
}
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)
const entriesOf = (value) => isObject(value) ? Object.entries(value) : []
const codeSpans = (text) => String(text).split("\u0060").map((part, i) => i % 2 === 1 ? el("code", {}, part) : part)
const prose = (text) => text ? String(text).split(/\n\s*\n/).map((part) => el("p", {}, codeSpans(part))) : []
const joined = (parts, word) => parts.flatMap((part, i) => i === 0 ? [part] : [word, part])
const fold = (attributes, summary, ...inside) =>
  el("details", attributes, el("summary", {}, summary), el("div", { class: "inside" }, inside))
const anchor = (kind, name) => kind + "-" + encodeURIComponent(name)
const nameOf = (ref) => ref.startsWith(schemaPrefix) ? ref.slice(schemaPrefix.length) : undefined

let api = {}

/** Follows references within the document; one that leads nowhere is an empty schema. */
const resolve = (value, hops = 0) => {
  if (!isObject(value) || hops > referenceHopsMax) return {}
  if (typeof value.$ref !== "string") return value
  const keys = value.$ref.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
  const found = keys.reduce((inner, key) => isObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined, api)
  return resolve(found, hops + 1)
}
const membersOf = (schema) => schema.anyOf ?? schema.oneOf ?? schema.allOf
const limitWords = {
  minLength: "length ≥", maxLength: "length ≤", minItems: "items ≥", maxItems: "items ≤", minimum: "≥", maximum: "≤",
  exclusiveMinimum: ">", exclusiveMaximum: "<", pattern: "pattern"
}
const typeOf = (schema) => {
  if (!isObject(schema)) return ["any"]
  if (typeof schema.$ref === "string") {
    const name = nameOf(schema.$ref)
    return name === undefined ? typeOf(resolve(schema)) : [el("a", { href: "#" + anchor("schema", name) }, name)]
  }
  const values = "const" in schema ? [schema.const] : schema.enum
  if (values) return joined(values.map((value) => el("code", {}, JSON.stringify(value))), " or ")
  const members = membersOf(schema)
  if (members) return joined(members.map(typeOf), schema.allOf ? " and " : " or ").flat(Infinity)
  const limits = Object.entries(limitWords).filter(([key]) => key in schema).map(([key, word]) => word + " " + schema[key])
  const notes = (schema.format ? [schema.format] : []).concat(limits).join(", ")
  const types = [schema.type ?? (schema.properties ? "object" : "any")].flat().map((type) => {
    if (type === "array") return ["array of ", membersOf(schema.items ?? {}) ? ["(", typeOf(schema.items), ")"] : typeOf(schema.items)]
    return type === "object" && isObject(schema.additionalProperties) ? ["object of ", typeOf(schema.additionalProperties)] : [type]
  })
  return [joined(types, " or "), notes ? el("span", { class: "quiet" }, " (" + notes + ")") : []].flat(Infinity)
}
/** The objects that a schema spells out in place, wherever they stand in its unions and lists. */
const objectsIn = (schema) => !isObject(schema) ? [] : schema.properties
  ? [schema]
  : [membersOf(schema) ?? [], schema.items, schema.additionalProperties].flat().flatMap(objectsIn)
const row = (name, required, schema, description) => el("tr", {},
  el("th", { scope: "row" }, el("code", {}, name), required ? el("span", { class: "required" }, " required") : []),
  el("td", {}, typeOf(schema),
    isObject(schema) && schema.default !== undefined ? [", default ", el("code", {}, JSON.stringify(schema.default))] : [],
    prose(description ?? schema?.description),
    objectsIn(schema).map((object) => fold({ open: "" }, "Its fields", fieldTable(object)))))
const table = (rows) => el("table", {}, el("tbody", {}, rows))
const fieldTable = (schema) => table(
  entriesOf(schema.properties).map(([name, inner]) => row(name, (schema.required ?? []).includes(name), inner)))
/** A long table inside something else is folded, so that what follows it can be seen. */
const shortTable = (schema) => {
  const count = entriesOf(schema.properties).length
  return count > openFieldsMax ? fold({}, count + " fields", fieldTable(schema)) : fieldTable(schema)
}
/** A schema in full; the schemas that it refers to are links. Where it stands in place, its type was told before. */
const body = (schema, tableOf = fieldTable) => {
  const shape = resolve(schema)
  return [prose(shape.description), schema?.$ref && !shape.properties ? el("p", {}, typeOf(shape)) : [], objectsIn(shape).map((one) => tableOf(one))]
}
const eventName = (schema) => {
  const type = resolve(resolve(schema).properties?.type)
  return type.const ?? type.enum?.[0] ?? nameOf(schema.$ref ?? "") ?? "event"
}
const eventList = (schema) => (membersOf(resolve(schema)) ?? [schema]).map((event) =>
  fold({}, el("code", {}, eventName(event)), body(event)))

const sample = (given, depth) => {
  const schema = resolve(given)
  if (depth > sampleDepthMax) return null
  const value = schema.examples?.[0] ?? schema.example ?? schema.default ?? schema.const ?? schema.enum?.[0]
  if (value !== undefined) return value
  const member = membersOf(schema)?.find((one) => one.type !== "null")
  if (member) return sample(member, depth + 1)
  const type = [schema.type ?? (schema.properties ? "object" : "string")].flat()[0]
  if (type === "object") {
    return Object.fromEntries((schema.required ?? []).map((name) => [name, sample(schema.properties?.[name], depth + 1)]))
  }
  if (type === "array") return schema.minItems > 0 ? [sample(schema.items, depth + 1)] : []
  if (type === "string") return schema.format === "uuid" ? "00000000-0000-0000-0000-000000000000" : "Hello"
  return type === "boolean" ? true : type === "null" ? null : schema.minimum ?? 1
}
const shell = (text) => /^[\w.\/:@%+=,-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'"
const isFile = (schema) => schema.format === "binary" || (schema.items !== undefined && isFile(resolve(schema.items)))
const formFields = (media) => entriesOf(resolve(media.schema).properties).map(([name, schema]) =>
  "-F " + shell(name + "=" + (isFile(resolve(schema)) ? "@file" : sample(schema, 0))))
const securityOf = (operation) => (operation.security ?? api.security ?? []).flatMap(Object.keys)
const curl = (method, path, operation, parameters) => {
  const value = (parameter) => encodeURIComponent(sample(parameter.schema, 0))
  const query = parameters.filter((one) => one.in === "query" && one.required).map((one) => one.name + "=" + value(one))
  const route = parameters.filter((one) => one.in === "path").reduce((text, one) => text.replace("{" + one.name + "}", value(one)), path)
  const [type, media] = entriesOf(resolve(operation.requestBody).content)[0] ?? []
  const streams = Object.values(operation.responses ?? {}).some((one) => resolve(one).content?.["text/event-stream"])
  return [
    "curl " + (streams ? "-N " : "") + (method === (type ? "POST" : "GET") ? "" : "-X " + method + " ")
      + shell(location.origin + route + (query.length > 0 ? "?" + query.join("&") : "")),
    securityOf(operation).length > 0 ? '-H "Authorization: Bearer $API_KEY"' : [],
    type === "multipart/form-data" ? formFields(media) : type
      ? ["-H " + shell("Content-Type: " + type), "-d " + shell(JSON.stringify(media.example ?? sample(media.schema, 0)))]
      : []
  ].flat().join(" \\\n  ")
}
const curlBlock = (text) => {
  const button = el("button", { type: "button", "aria-live": "polite" }, "Copy")
  button.addEventListener("click", () => navigator.clipboard.writeText(text).then(
    () => button.replaceChildren("Copied"), () => button.replaceChildren("Not allowed")))
  button.addEventListener("blur", () => button.replaceChildren("Copy"))
  // A page that came over plain HTTP from another machine has no clipboard.
  return el("div", { class: "curl" }, el("pre", { tabindex: "0" }, el("code", {}, text)), navigator.clipboard ? button : [])
}
const response = ([status, given]) => {
  const answer = resolve(given)
  const fine = status.startsWith("2")
  const media = entriesOf(answer.content)
  const label = [el("span", { class: fine ? "status fine" : "status" }, status), codeSpans(answer.description ?? "")]
  const headers = entriesOf(answer.headers).map(([name, header]) =>
    row(name, resolve(header).required, resolve(header).schema, resolve(header).description))
  const details = [headers.length > 0 ? table(headers) : [], media.map(([type, { schema }]) => [
    el("p", {}, el("code", {}, type), " ", typeOf(schema)), type === "text/event-stream" ? eventList(schema) : body(schema, shortTable)
  ])]
  return fold(fine ? { open: "" } : {}, label, details)
}
const routeLabel = ({ method, path }) => [el("span", { class: "method" }, method), path]
const endpoint = (one) => {
  const { method, path, operation } = one
  const parameters = [...one.shared, ...(operation.parameters ?? [])].map(resolve)
  const request = resolve(operation.requestBody)
  const schemes = securityOf(operation).map((name) => api.components?.securitySchemes?.[name]?.description ?? name)
  return el("section", { id: one.id },
    el("h3", {}, operation.summary ?? operation.operationId ?? path),
    el("div", { class: "route" }, routeLabel(one)),
    prose(operation.description),
    el("h4", {}, "Authentication"), el("p", {}, schemes.length > 0 ? joined(schemes.map(codeSpans), " or ") : "None."),
    el("h4", {}, "Example"), curlBlock(curl(method, path, operation, parameters)),
    parameters.length > 0
      ? [el("h4", {}, "Parameters"), table(parameters.map((each) =>
          row(each.name, each.required, each.schema, "In the " + each.in + ". " + (each.description ?? ""))))]
      : [],
    entriesOf(request.content).map(([type, media]) => [
      el("h4", {}, "Request body", request.required ? "" : ", optional"),
      el("p", {}, el("code", {}, type), " ", typeOf(media.schema)), prose(request.description), body(media.schema)
    ]),
    el("h4", {}, "Responses"), entriesOf(operation.responses).map(response))
}
const verbs = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
const endpointsOf = (paths) => entriesOf(paths).flatMap(([path, item]) =>
  verbs.filter((verb) => isObject(item[verb])).map((verb) => ({
    path, method: verb.toUpperCase(), operation: item[verb], shared: item.parameters ?? [],
    id: anchor("endpoint", item[verb].operationId ?? verb + path), tag: item[verb].tags?.[0] ?? "Endpoints"
  })))

const show = (loaded) => {
  api = loaded
  const endpoints = endpointsOf(api.paths)
  const schemas = Object.keys(api.components?.schemas ?? {})
  const link = (id, label) => el("li", {}, el("a", { href: "#" + id }, label))
  const tags = [...new Set(endpoints.map((one) => one.tag))]
  const contents = fold(matchMedia("(min-width: 60rem)").matches ? { open: "" } : {}, "Contents",
    tags.map((tag) => [el("strong", {}, tag), el("ul", {},
      endpoints.filter((one) => one.tag === tag).map((one) => link(one.id, routeLabel(one))))]),
    el("strong", {}, "Schemas"), el("ul", {}, schemas.map((name) => link(anchor("schema", name), name))))
  document.title = api.info.title + " " + api.info.version
  byId("title").replaceChildren(api.info.title, el("span", { class: "version" }, "Version " + api.info.version))
  byId("about").replaceChildren(...prose(api.info.description))
  byId("nav").replaceChildren(contents)
  byId("reference").replaceChildren(
    ...tags.flatMap((tag) => [
      el("h2", {}, tag), ...prose(api.tags?.find((one) => one.name === tag)?.description),
      ...endpoints.filter((one) => one.tag === tag).map(endpoint)
    ]),
    el("h2", {}, "Schemas"),
    ...schemas.map((name) => fold({ id: anchor("schema", name) }, el("code", {}, name), body({ $ref: schemaPrefix + name }))))
}
/** Opens what the address points to, and whatever it stands in. */
const reveal = (hash) => {
  const target = hash.length > 1 ? byId(hash.slice(1)) : null
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.setAttribute("open", "")
  if (target) target.scrollIntoView()
}
const tell = (message, refused) => {
  byId("status").setAttribute("class", refused ? "refused" : "quiet")
  byId("status").replaceChildren(message)
}
const ask = (message, refused) => {
  tell(message, refused)
  byId("ask").hidden = false
  byId("key").focus()
}
const load = async (key) => {
  if (!/^[\x21-\x7e]*$/.test(key)) return ask("This is not an API key: it holds spaces or other characters that no key has.", true)
  tell("Loading…", false)
  const answer = await fetch("/openapi.json", {
    headers: key === "" ? {} : { authorization: "Bearer " + key },
    credentials: "omit", cache: "no-store", redirect: "error", signal: AbortSignal.timeout(fetchSeconds * 1000)
  }).catch(() => undefined)
  if (!answer) return ask("The service could not be reached. Try again.", true)
  const content = await answer.json().catch(() => undefined)
  const reason = content?.error?.message ?? ""
  if (answer.status === 401 && key === "") return ask("This service describes its interface to those who have an API key.", false)
  if (answer.status === 401) return ask("The service refused this key. " + reason, true)
  if (!answer.ok) return ask("The service answered with status " + answer.status + ". " + reason, true)
  if (!isObject(content?.info) || !isObject(content.paths)) return ask("The service did not answer with an OpenAPI document.", true)
  show(content)
  const asked = !byId("ask").hidden
  byId("ask").hidden = true
  byId("key").value = ""
  tell("", false)
  if (asked) byId("title").focus()
  reveal(location.hash)
}
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault()
  return load(byId("key").value.trim())
})
addEventListener("hashchange", () => reveal(location.hash))
// The address doesn't change when the link points to where it already is.
document.addEventListener("click", (event) => {
  const target = event.target.closest("a[href^='#']")
  if (target && target.hash === location.hash) reveal(target.hash)
})
load("")
`

/** The page at `/docs`, complete. */
export const referencePage: string = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#title">Skip to the content</a>
<div class="columns">
<nav id="nav" aria-label="Contents"></nav>
<main>
<h1 id="title" tabindex="-1">API reference</h1>
<div id="about"></div>
<form id="ask" autocomplete="off" hidden>
<label for="key">API key</label>
<div>
<input id="key" type="text" autocomplete="off" autocapitalize="none" spellcheck="false">
<button type="submit">Show the reference</button>
</div>
<p class="quiet">The key is sent to this service only, and is not kept.</p>
</form>
<p id="status" class="quiet" role="status"></p>
<div id="reference"></div>
<noscript><p>This page needs JavaScript. The interface is described by the OpenAPI document at <code>/openapi.json</code>.</p></noscript>
</main>
</div>
<script>${script}</script>
</body>
</html>
`
