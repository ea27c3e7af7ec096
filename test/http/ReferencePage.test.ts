import { assert, describe, it } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import { createContext, Script } from "node:vm"
import { openApiDocument } from "../../src/api/OpenApiDocument.ts"
import { referencePage } from "../../src/http/ReferencePage.ts"

const [script = "", ...moreScripts] = [...referencePage.matchAll(/<script>([^]*?)<\/script>/g)].map(
  ([, text]) => text!
)

/** Elements that the page's script asks for by their id, as the page's own markup holds them. */
const idsInMarkup = [...referencePage.replace(script, "").matchAll(/ id="(\w+)"/g)].map(([, id]) => id!)

const attributesAllowed = ["aria-live", "class", "href", "id", "open", "scope", "tabindex", "type"]

/** As much of an element as the script uses. It takes text and elements and has no way to take markup. */
class FakeElement {
  readonly tagName: string
  readonly attributes = new Map<string, string>()
  readonly listeners = new Map<string, (event: unknown) => unknown>()
  readonly parentElement = null
  children: ReadonlyArray<FakeElement | string> = []
  hidden = false
  value = ""

  constructor(tag: string) {
    this.tagName = tag.toUpperCase()
  }
  setAttribute(name: string, value: string) {
    assert.include(attributesAllowed, name)
    if (name === "href") assert.match(value, /^#/)
    this.attributes.set(name, value)
  }
  append(...nodes: ReadonlyArray<FakeElement | string>) {
    for (const node of nodes)
      assert.isTrue(node instanceof FakeElement || Predicate.isString(node), `appended ${node}`)
    this.children = [...this.children, ...nodes]
  }
  replaceChildren(...nodes: ReadonlyArray<FakeElement | string>) {
    this.children = []
    this.append(...nodes)
  }
  addEventListener(name: string, listener: (event: unknown) => unknown) {
    this.listeners.set(name, listener)
  }
  focus() {}
  scrollIntoView() {}
  get textContent(): string {
    return this.children.map((child) => (Predicate.isString(child) ? child : child.textContent)).join("")
  }
  get descendants(): ReadonlyArray<FakeElement> {
    return this.children.flatMap((child) => (Predicate.isString(child) ? [] : [child, ...child.descendants]))
  }
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

const unauthorized: Answer = {
  status: 401,
  body: { detail: "no", error: { message: "It may have expired." } }
}

/** Opens the page against a service that answers as `answer` says, and waits until it has come to rest. */
const openPage = async (answer: (authorization: string | undefined) => Answer) => {
  const byId = new Map(idsInMarkup.map((id) => [id, new FakeElement("div")]))
  byId.get("ask")!.hidden = true
  const requests: Array<{ readonly url: string; readonly authorization: string | undefined }> = []
  const context = createContext({
    AbortSignal,
    addEventListener: () => {},
    document: {
      addEventListener: () => {},
      createElement: (tag: string) => new FakeElement(tag),
      getElementById: (id: string) => byId.get(id) ?? null
    },
    fetch: async (url: string, options: { readonly headers: { readonly authorization?: string } }) => {
      const { authorization } = options.headers
      requests.push({ url, authorization })
      const { body, status } = answer(authorization)
      return { ok: status === 200, status, json: async () => structuredClone(body) }
    },
    location: { hash: "", origin: "http://parley.test" },
    matchMedia: () => ({ matches: true }),
    navigator: {}
  })
  const part = (id: string) => byId.get(id)!
  await new Script(script).runInContext(context)
  return {
    part,
    requests,
    submit: async (key: string) => {
      part("key").value = key
      await part("ask").listeners.get("submit")!({ preventDefault: () => {} })
    }
  }
}

const open = (answer: (authorization: string | undefined) => Answer) => Effect.promise(() => openPage(answer))

const guarded = (authorization: string | undefined): Answer =>
  authorization === "Bearer parley_good" ? { status: 200, body: openApiDocument } : unauthorized

const keysIn = (value: unknown): ReadonlyArray<string> =>
  Predicate.isObject(value) ? Object.keys(value) : []

describe("referencePage", () => {
  it("refers to no other host, stores nothing and takes no markup", () => {
    assert.notMatch(referencePage, /https?:|["'(]\/\/|@import|\burl\(|<link|<img|<iframe|\bsrc=/i)
    assert.notMatch(
      referencePage,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|Function\(/
    )
    assert.notMatch(referencePage, /localStorage|sessionStorage|indexedDB|cookie|history\./)
    assert.deepStrictEqual(
      [...referencePage.matchAll(/fetch\(([^,]*),/g)].map(([, url]) => url),
      ['"/openapi.json"']
    )
  })

  it("parses: one script without syntax errors, and every element closed", () => {
    assert.lengthOf(moreScripts, 0)
    assert.notMatch(script, /<!--|<\/?script/i)
    assert.doesNotThrow(() => new Script(script))
    const voids = ["!doctype", "meta", "input"]
    const standing: Array<string> = []
    for (const [, closing, tag] of referencePage.replace(script, "").matchAll(/<(\/?)(!?[a-z]\w*)[^>]*>/g)) {
      if (voids.includes(tag!)) continue
      if (closing === "") standing.push(tag!)
      else assert.strictEqual(standing.pop(), tag)
    }
    assert.lengthOf(standing, 0)
  })

  it.effect("shows an open document at once, whole, with every link leading somewhere", () =>
    Effect.gen(function* () {
      const page = yield* open(() => ({ status: 200, body: openApiDocument }))
      assert.deepStrictEqual(page.requests, [{ url: "/openapi.json", authorization: undefined }])
      assert.isTrue(page.part("ask").hidden)

      const reference = page.part("reference")
      const paths = openApiDocument["paths"]
      const components = openApiDocument["components"]
      const schemas = Predicate.hasProperty(components, "schemas") ? components.schemas : {}
      const shown = reference.descendants.filter((one) => one.attributes.get("class") === "route")
      const routes = shown.map((one) => one.textContent)
      const routesDocumented = Object.entries(Predicate.isObject(paths) ? paths : {}).flatMap(
        ([path, item]) => keysIn(item).map((method) => method.toUpperCase() + path)
      )
      assert.isAbove(routesDocumented.length, 0)
      assert.sameMembers(routes, routesDocumented)

      const ids = reference.descendants.flatMap((one) => one.attributes.get("id") ?? [])
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.includeMembers(
        ids,
        keysIn(schemas).map((name) => `schema-${name}`)
      )
      const links = [...page.part("nav").descendants, ...reference.descendants].flatMap(
        (one) => one.attributes.get("href") ?? []
      )
      assert.isAbove(links.length, 0)
      assert.includeMembers(ids, [...new Set(links.map((link) => link.slice(1)))])
    })
  )

  it.effect("lists each event of the stream, and gives a curl that sends a valid body", () =>
    Effect.gen(function* () {
      const page = yield* open(() => ({ status: 200, body: openApiDocument }))
      const endpoint = page
        .part("reference")
        .descendants.find((one) => one.attributes.get("id") === "endpoint-responses.create")
      const summaries = endpoint!.descendants
        .filter((one) => one.tagName === "SUMMARY")
        .map((one) => one.textContent)
      assert.includeMembers(summaries, [
        "response.created",
        "response.output_text.delta",
        "response.completed",
        "error"
      ])
      assert.strictEqual(
        endpoint!.descendants.find((one) => one.tagName === "PRE")!.textContent,
        [
          "curl -N http://parley.test/v1/responses",
          '-H "Authorization: Bearer $API_KEY"',
          "-H 'Content-Type: application/json'",
          `-d '{"input":"Hello"}'`
        ].join(" \\\n  ")
      )
    })
  )

  it.effect(
    "asks for a key when there must be one, says when it is refused, and drops it when it was good",
    () =>
      Effect.gen(function* () {
        const page = yield* open(guarded)
        const submit = (key: string) => Effect.promise(() => page.submit(key))
        assert.isFalse(page.part("ask").hidden)
        assert.lengthOf(page.part("reference").children, 0)

        yield* submit("parley_bad")
        assert.strictEqual(
          page.part("status").textContent,
          "The service refused this key. It may have expired."
        )
        assert.isFalse(page.part("ask").hidden)

        yield* submit("not a kéy")
        assert.include(page.part("status").textContent, "not an API key")

        yield* submit(" parley_good\n")
        assert.isAbove(page.part("reference").descendants.length, 0)
        assert.isTrue(page.part("ask").hidden)
        assert.strictEqual(page.part("key").value, "")
        assert.notInclude(page.part("reference").textContent, "parley_good")
        assert.deepStrictEqual(page.requests, [
          { url: "/openapi.json", authorization: undefined },
          { url: "/openapi.json", authorization: "Bearer parley_bad" },
          { url: "/openapi.json", authorization: "Bearer parley_good" }
        ])
      })
  )

  it.effect("shows what a document says as text, whatever it says", () =>
    Effect.gen(function* () {
      const markup = "<img src=x onerror=alert(1)>"
      const deep = { content: { "application/json": { schema: { $ref: "#/components/schemas/Deep" } } } }
      const page = yield* open(() => ({
        status: 200,
        body: {
          info: { title: markup, version: markup, description: markup },
          paths: {
            [`/${markup}`]: {
              get: { summary: markup, requestBody: deep, responses: { 200: { description: markup } } }
            }
          },
          components: {
            schemas: {
              [markup]: { properties: { [markup]: { enum: [markup], default: markup } } },
              Lost: { $ref: "#/nowhere" },
              Loop: { $ref: "#/components/schemas/Loop" },
              Deep: {
                type: "object",
                required: ["next"],
                properties: { next: { $ref: "#/components/schemas/Deep" } }
              }
            }
          }
        }
      }))
      assert.include(page.part("reference").textContent, `GET/${markup}`)
      assert.notInclude(
        page.part("reference").descendants.map((one) => one.tagName),
        "IMG"
      )
      assert.strictEqual(page.part("status").textContent, "")
    })
  )

  it.effect("says so when the service fails, or answers with something else", () =>
    Effect.gen(function* () {
      const failing = yield* open(() => ({ status: 503, body: { error: { message: "Try again." } } }))
      assert.strictEqual(
        failing.part("status").textContent,
        "The service answered with status 503. Try again."
      )
      const strange = yield* open(() => ({ status: 200, body: [] }))
      assert.include(strange.part("status").textContent, "did not answer with an OpenAPI document")
      const away = yield* open(() => {
        throw new Error("connection refused")
      })
      assert.include(away.part("status").textContent, "could not be reached")
    })
  )
})
