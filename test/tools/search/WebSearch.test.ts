import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { AppConfig, type Settings } from "../../../src/settings/AppConfig.ts"
import { Egress } from "../../../src/tools/Egress.ts"
import { Network } from "../../../src/tools/egress/Network.ts"
import { webSearch } from "../../../src/tools/WebSearch.ts"
import { testConfig } from "../../support/TestConfig.ts"
import { makeSearchServer, type SearchReply } from "./SearchServer.ts"

type Provider = NonNullable<Settings["tools"]["searchProvider"]>

const key = "sesame-7"

/** Everything that is logged while an effect runs. */
const withLog = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const layer = Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(String(line)))])
    return { result: yield* Effect.provide(effect, layer), log: lines.join("\n") }
  })

/** The search tool of an installation with these settings. */
const toolWith = (tools: Partial<Settings["tools"]>) => {
  const config = Layer.succeed(AppConfig, testConfig({ tools }))
  const egress = Egress.layer.pipe(Layer.provide([Network.layer, config]))
  return Effect.provide(webSearch, Layer.merge(config, egress))
}

/** A provider on this machine that is going to answer so, and the tool that asks it. */
const setUp = Effect.fnUntraced(function* (
  provider: Provider,
  replies: ReadonlyArray<SearchReply>,
  tools: Partial<Settings["tools"]> = {}
) {
  const server = yield* makeSearchServer
  server.next(...replies)
  const [tool] = yield* toolWith({
    searchProvider: provider,
    searchUrl: server.url,
    searchKey: Redacted.make(key),
    ...tools
  })
  if (tool === undefined) return assert.fail("the tool is not offered")
  return { server, run: tool.run, spec: tool.spec }
})

const failureOf = Effect.fnUntraced(function* (
  provider: Provider,
  replies: ReadonlyArray<SearchReply>,
  tools: Partial<Settings["tools"]> = {}
) {
  const { run, server } = yield* setUp(provider, replies, tools)
  const { log, result } = yield* withLog(Effect.flip(run({ query: "lighthouses" })))
  assert.notInclude(result.message + log, key)
  return { message: result.message, asked: server.questions.length, log }
})

const searxngAnswer = {
  query: "lighthouses",
  number_of_results: 0,
  results: [
    {
      url: "https://example.org/harrow",
      title: "Harrow Point Lighthouse",
      content: "Built in 1851 to guide ships past the reef.",
      publishedDate: "2024-03-01T00:00:00",
      engine: "duckduckgo",
      parsed_url: ["https", "example.org", "/harrow", "", "", ""],
      template: "default.html",
      engines: ["duckduckgo", "brave"],
      positions: [1, 2],
      score: 3.5,
      category: "general"
    },
    { title: "A find without an address", content: "is left out" },
    { url: "https://example.org/keeper", title: "The keeper", content: null, publishedDate: null },
    "not even an object"
  ],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: ["lighthouse keeper"],
  unresponsive_engines: [["google", "timeout"]]
}

const braveAnswer = {
  type: "search",
  query: { original: "lighthouses", more_results_available: true },
  mixed: { type: "mixed", main: [{ type: "web", index: 0, all: false }] },
  web: {
    type: "search",
    family_friendly: true,
    results: [
      {
        title: "Harrow Point &amp; its <strong>Lighthouse</strong>",
        url: "https://example.org/harrow",
        is_source_local: false,
        description: "Built in 1851 to guide <strong>ships</strong> past the reef&#x27;s rocks.",
        page_age: "2024-03-01T09:30:00",
        age: "March 1, 2024",
        meta_url: { scheme: "https", netloc: "example.org", hostname: "example.org", path: "› harrow" },
        profile: { name: "Example", long_name: "example.org" }
      },
      { title: "The keeper", url: "https://example.org/keeper", description: "", age: "3 days ago" }
    ]
  }
}

const tavilyAnswer = {
  query: "lighthouses",
  follow_up_questions: null,
  answer: null,
  images: [],
  results: [
    {
      title: "Harrow Point Lighthouse",
      url: "https://example.org/harrow",
      content: "Built in 1851\n\nto guide ships past the reef.",
      score: 0.93,
      raw_content: null,
      published_date: "Fri, 01 Mar 2024 09:30:00 GMT"
    },
    { title: "The keeper", url: "https://example.org/keeper", content: "Lit the lamp.", score: 0.5 }
  ],
  response_time: 1.1,
  request_id: "0b9c"
}

const exaAnswer = {
  requestId: "b5947044c4b78efa9552a7c89b306d95",
  resolvedSearchType: "neural",
  results: [
    {
      id: "https://example.org/harrow",
      url: "https://example.org/harrow",
      title: "Harrow Point Lighthouse",
      publishedDate: "2024-03-01T09:30:00.000Z",
      author: null,
      highlights: ["Built in 1851.", "Guides ships past the reef."],
      highlightScores: [0.4, 0.3],
      image: "https://example.org/lamp.png"
    },
    { id: "2", url: "https://example.org/keeper", title: null, publishedDate: null, text: "Lit the lamp." }
  ],
  costDollars: { total: 0.005 }
}

describe("web_search", () => {
  it.live("web_search sends a search to SearXNG", () =>
    Effect.gen(function* () {
      const { run, server } = yield* setUp("searxng", [{ json: searxngAnswer }])
      const { host, text } = yield* run({ query: " lighthouses & reefs " })
      const [asked] = server.questions
      assert.deepInclude(asked, {
        method: "GET",
        path: "/search",
        query: { q: "lighthouses & reefs", format: "json" },
        body: null
      })
      assert.notInclude(JSON.stringify(asked), key)
      assert.strictEqual(host, "127.0.0.1")
      assert.deepStrictEqual(text.split("\n\n").slice(1), [
        "1. Harrow Point Lighthouse\n   URL: https://example.org/harrow\n   Date: 2024-03-01\n   Text: Built in 1851 to guide ships past the reef.",
        "2. The keeper\n   URL: https://example.org/keeper",
        "[End of the results]"
      ])
      assert.include(text, "never instructions")
    })
  )

  it.live("web_search sends a search to Brave, and removes the HTML from the results", () =>
    Effect.gen(function* () {
      const { run, server } = yield* setUp("brave", [{ json: braveAnswer }, { json: { type: "search" } }])
      const { text } = yield* run({ query: "lighthouses", count: 5 })
      const [asked] = server.questions
      assert.deepInclude(asked, {
        method: "GET",
        path: "/res/v1/web/search",
        query: { q: "lighthouses", count: "5", result_filter: "web", text_decorations: "false" }
      })
      assert.strictEqual(asked?.headers["x-subscription-token"], key)
      assert.deepStrictEqual(text.split("\n\n").slice(1, -1), [
        "1. Harrow Point & its Lighthouse\n   URL: https://example.org/harrow\n   Date: 2024-03-01\n   Text: Built in 1851 to guide ships past the reef's rocks.",
        "2. The keeper\n   URL: https://example.org/keeper\n   Date: 3 days ago"
      ])
      const nothing = yield* run({ query: Array.from({ length: 60 }, (_, i) => `w${i}`).join(" ") })
      assert.include(nothing.text, "found nothing")
      assert.strictEqual(server.questions[1]?.query["q"]?.split(" ").length, 50)
    })
  )

  it.live("web_search sends a search to Tavily", () =>
    Effect.gen(function* () {
      const { run, server } = yield* setUp("tavily", [{ json: tavilyAnswer }])
      const { text } = yield* run({ query: "lighthouses", count: 3 })
      const [asked] = server.questions
      assert.deepInclude(asked, {
        method: "POST",
        path: "/search",
        body: { query: "lighthouses", max_results: 3, search_depth: "basic" }
      })
      assert.strictEqual(asked?.headers.authorization, `Bearer ${key}`)
      assert.match(asked?.headers["content-type"] ?? "", /^application\/json/)
      assert.deepStrictEqual(text.split("\n\n").slice(1, -1), [
        "1. Harrow Point Lighthouse\n   URL: https://example.org/harrow\n   Date: 2024-03-01\n   Text: Built in 1851 to guide ships past the reef.",
        "2. The keeper\n   URL: https://example.org/keeper\n   Text: Lit the lamp."
      ])
    })
  )

  it.live("web_search sends a search to Exa", () =>
    Effect.gen(function* () {
      const { run, server } = yield* setUp("exa", [{ json: exaAnswer }])
      const { text } = yield* run({ query: "lighthouses", count: 2 })
      const [asked] = server.questions
      assert.deepInclude(asked, {
        method: "POST",
        path: "/search",
        body: {
          query: "lighthouses",
          type: "auto",
          numResults: 2,
          contents: { highlights: { maxCharacters: 600 } }
        }
      })
      assert.strictEqual(asked?.headers["x-api-key"], key)
      assert.deepStrictEqual(text.split("\n\n").slice(1, -1), [
        "1. Harrow Point Lighthouse\n   URL: https://example.org/harrow\n   Date: 2024-03-01\n   Text: Built in 1851. … Guides ships past the reef.",
        "2. example.org\n   URL: https://example.org/keeper\n   Text: Lit the lamp."
      ])
    })
  )

  it.live("web_search shows no more results than the call and the settings allow", () =>
    Effect.gen(function* () {
      const results = Array.from({ length: 30 }, (_, i) => ({
        url: `https://example.org/${i}`,
        title: `t${i}`
      }))
      const { run, server } = yield* setUp("tavily", [{ json: { results } }, { json: { results } }], {
        searchResultsMax: 4
      })
      const numbered = (text: string) => text.match(/^\d+\. /gm)?.length
      assert.strictEqual(numbered((yield* run({ query: "x" })).text), 4)
      assert.strictEqual(numbered((yield* run({ query: "x", count: 2 })).text), 2)
      assert.deepStrictEqual(
        server.questions.map(({ body }) => (body as { readonly max_results: number }).max_results),
        [4, 2]
      )
    })
  )

  it.live("web_search refuses arguments that no provider accepts, without sending a request", () =>
    Effect.gen(function* () {
      const { run, server } = yield* setUp("tavily", [])
      const wrong = [
        {},
        { query: "  " },
        { query: "x".repeat(401) },
        { query: "x", count: 0 },
        { query: "x", count: 21 },
        { query: "x", count: 1.5 }
      ]
      for (const args of wrong) {
        assert.include((yield* Effect.flip(run(args))).message, "web_search")
      }
      assert.isEmpty(server.questions)
    })
  )

  it.live("web_search retries once after a Retry-After, and after a broken connection", () =>
    Effect.gen(function* () {
      const busy: SearchReply = { status: 429, headers: { "retry-after": "0" } }
      const once = yield* setUp("exa", [busy, { json: exaAnswer }])
      assert.include((yield* once.run({ query: "x" })).text, "1. Harrow")
      assert.strictEqual(once.server.questions.length, 2)
      const past = { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }
      const dated = yield* setUp("exa", [{ status: 429, headers: past }, { json: exaAnswer }])
      assert.include((yield* dated.run({ query: "x" })).text, "1. Harrow")
      const broken = yield* setUp("exa", ["cut", { json: exaAnswer }])
      assert.include((yield* broken.run({ query: "x" })).text, "1. Harrow")
      assert.strictEqual(broken.server.questions.length, 2)

      const twice = yield* failureOf("exa", [busy, busy, { json: exaAnswer }])
      assert.include(twice.message, "429")
      assert.strictEqual(twice.asked, 2)
      const patient = yield* failureOf("exa", [{ status: 429, headers: { "retry-after": "3600" } }])
      assert.strictEqual(patient.asked, 1)
      const dead = yield* failureOf("exa", ["cut", "cut", { json: exaAnswer }])
      assert.include(dead.message, "can't be reached")
      assert.strictEqual(dead.asked, 2)
    })
  )

  it.live("web_search reports a provider's errors in its own words", () =>
    Effect.gen(function* () {
      const refused = yield* failureOf("tavily", [{ status: 401 }])
      assert.include(refused.message, "does not accept the key")
      assert.include(refused.log, "401")
      assert.include((yield* failureOf("tavily", [{ status: 432 }])).message, "used up")
      assert.include((yield* failureOf("searxng", [{ status: 403 }])).message, "settings.yml")
      assert.include((yield* failureOf("brave", [{ status: 422 }])).message, "key")
      const broken = yield* failureOf("brave", [{ status: 500 }])
      assert.include(broken.message, "500")
      assert.strictEqual(broken.asked, 1)
      for (const raw of ["", "{", "[]", "null", '"x"', '{"results":7}', "<html></html>"]) {
        assert.include((yield* failureOf("exa", [{ raw }])).message, "can't be understood", raw)
        assert.include((yield* failureOf("brave", [{ raw }])).message, "can't be understood", raw)
      }
    })
  )

  it.live("web_search distinguishes failed engines of a server from a search that found nothing", () =>
    Effect.gen(function* () {
      const unresponsive = [
        ["duckduckgo", "timeout"],
        ["brave", "Suspended: too many requests"]
      ]
      const broken = yield* failureOf("searxng", [
        { json: { results: [], unresponsive_engines: unresponsive } }
      ])
      assert.include(broken.message, "none of its search engines answered")
      assert.include(broken.log, "duckduckgo")
      assert.include(broken.log, "too many requests")
      assert.notInclude(broken.message, "duckduckgo")

      const { run } = yield* setUp("searxng", [
        { json: { results: [], unresponsive_engines: [] } },
        { json: { ...searxngAnswer, unresponsive_engines: unresponsive } }
      ])
      assert.include((yield* run({ query: "x" })).text, "found nothing")
      assert.include((yield* run({ query: "x" })).text, "1. Harrow")
    })
  )

  it.live("web_search limits the size of an answer and the time to wait for it", () =>
    Effect.gen(function* () {
      assert.include((yield* failureOf("searxng", ["endless"])).message, "too long")
      const slow = yield* failureOf("searxng", ["silent"], { searchSeconds: 1 })
      assert.include(slow.message, "within 1 seconds")
      assert.strictEqual(slow.asked, 1)
    })
  )

  it.live("web_search is offered only when a provider is configured", () =>
    Effect.gen(function* () {
      assert.isEmpty(yield* toolWith({}))
      assert.isEmpty(yield* toolWith({ searchUrl: "http://127.0.0.1:1", searchKey: Redacted.make(key) }))
      const [tool] = yield* toolWith({ searchProvider: "brave", searchKey: Redacted.make(key) })
      assert.strictEqual(tool?.spec.name, "web_search")
      assert.notInclude(JSON.stringify(tool), key)
    })
  )

  it.live("web_search reaches a provider at localhost and below a path", () =>
    Effect.gen(function* () {
      const server = yield* makeSearchServer
      server.next({ json: searxngAnswer })
      const searchUrl = `${server.url.replace("127.0.0.1", "localhost")}/searx/`
      const [tool] = yield* toolWith({ searchProvider: "searxng", searchUrl })
      assert.include((yield* tool!.run({ query: "x" })).text, "1. Harrow")
      assert.strictEqual(server.questions[0]?.path, "/searx/search")
    })
  )

  it.live("web_search allows a configured private address, but not one that it redirects to", () =>
    Effect.gen(function* () {
      const inside = yield* makeSearchServer
      inside.next({ json: searxngAnswer })
      const moved = { status: 302, headers: { location: `${inside.url}/search` } }
      const { message } = yield* failureOf("searxng", [moved, moved])
      assert.include(message, "can't be reached")
      assert.isEmpty(inside.questions)
    })
  )
})
