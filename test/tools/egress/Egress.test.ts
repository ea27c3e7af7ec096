import type { ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { AppConfig } from "../../../src/settings/AppConfig.ts"
import { Egress, type EgressFailed, EgressRefused, redirectsMax } from "../../../src/tools/Egress.ts"
import type { EgressOptions } from "../../../src/tools/egress/Hop.ts"
import { Network } from "../../../src/tools/egress/Network.ts"
import { serveOnLoopback } from "../../support/serveOnLoopback.ts"
import { type SettingsOverrides, testConfig } from "../../support/TestConfig.ts"
import { until } from "../../support/until.ts"
import { privateUrls, trickyUrls } from "./privateAddresses.ts"
import { selfSigned } from "./selfSigned.ts"
import {
  egressLayer,
  makeTestWeb,
  otherPublicAddress,
  publicAddress,
  startRawSite,
  startSite,
  type TestWeb
} from "./TestWeb.ts"

const page = "http://www.example.com/page"
const names = { "www.example.com": [[publicAddress]], "other.example.net": [[otherPublicAddress]] }

const get = (web: TestWeb, url: string, options?: EgressOptions, tools?: SettingsOverrides["tools"]) =>
  Effect.flatMap(Egress, (egress) => egress.get(url, options)).pipe(Effect.provide(egressLayer(web, tools)))

const refusal = new EgressRefused({ host: "" }).message

const isFailure = (error: unknown): error is EgressFailed => error instanceof Error && "reason" in error

const redirect = (response: ServerResponse, location: string, status = 302) => {
  response.writeHead(status, { location }).end("Elsewhere")
}

describe("a request to a private address", () => {
  it.effect("a request to a private address never opens a connection", () =>
    Effect.gen(function* () {
      const web = makeTestWeb({})
      const egress = Effect.flatMap(Egress, ({ get }) =>
        Effect.forEach(privateUrls, (url) =>
          Effect.flip(get(url)).pipe(
            Effect.map((error) => [url, isFailure(error) ? error.reason : error.message] as const)
          )
        )
      )
      const refused = yield* Effect.provide(egress, egressLayer(web))
      for (const [url, why] of refused) assert.isTrue(why === refusal || why === "url", `${url}: ${why}`)
      assert.deepStrictEqual(web.dialed, [])
      // Names of private networks are not even looked up.
      const told = web.lookedUp.filter((name) => !/example/.test(name))
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("a request to a private address is never sent after a redirect", () =>
    Effect.gen(function* () {
      const statuses = [301, 302, 303, 307, 308]
      const urls = privateUrls.filter((url) => /^\s*http:/.test(url) && url.length < 4000)
      const relative = [
        "//10.0.0.1/",
        "\\\\10.0.0.1\\",
        "file:///etc/passwd",
        "gopher://10.0.0.1/",
        "data:,x"
      ]
      const all = [...urls, ...relative]
      const site = yield* startSite(({ url = "" }, response) => {
        const number = Number(url.slice(1))
        const location = Buffer.from(all[number] ?? "", "utf8").toString("latin1")
        redirect(response, location.replace(/[\r\n]/g, ""), statuses[number % statuses.length])
      })
      const web = makeTestWeb({ names, port: site.port })
      for (const [number, url] of all.entries()) {
        if (/^\s*http:?\/{0,3}[^/]*$/.test(url) || /www\.example\.com|example\//.test(url)) continue
        web.dialed.length = 0
        const error = yield* Effect.flip(get(web, `http://www.example.com/${number}`))
        // A target that isn't a whole address is a path of the site, which is requested until the limit of
        // redirects.
        const isSafe = error.message === refusal || web.dialed.every((to) => to === `${publicAddress}:80`)
        assert.isTrue(isSafe, `${url}: ${error.message}`)
        assert.deepStrictEqual([...new Set(web.dialed)], [`${publicAddress}:80`], url)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("a request to a private address fails like one where nothing answers", () =>
    Effect.gen(function* () {
      const web = makeTestWeb({ names: { ...names, "in.example.com": [["10.0.0.1"]] } })
      const tried = ["http://10.0.0.1/", "http://in.example.com/", "http://no.example.com/", page]
      const messages = yield* Effect.forEach(tried, (url) =>
        Effect.map(Effect.flip(get(web, url)), ({ message }) => message)
      )
      assert.deepStrictEqual([...new Set(messages)], [refusal])
    })
  )

  it.live("a request to a private address fails like a lookup that times out", () =>
    Effect.gen(function* () {
      const web = makeTestWeb({ lookup: () => Effect.never })
      const error = yield* Effect.flip(get(web, page, { seconds: 0.05 }))
      assert.strictEqual(error.message, refusal)
    })
  )
})

describe("a host name whose addresses change", () => {
  it.effect("a host name is looked up once for a request, which goes to the checked address", () =>
    Effect.gen(function* () {
      const site = yield* startSite((_, response) => response.end("hello"))
      const web = makeTestWeb({
        names: { "www.example.com": [[publicAddress], ["127.0.0.1"]] },
        port: site.port
      })
      const answer = yield* get(web, page)
      assert.strictEqual(Buffer.from(answer.bytes).toString(), "hello")
      assert.deepStrictEqual(web.lookedUp, ["www.example.com"])
      assert.deepStrictEqual(web.dialed, [`${publicAddress}:80`])
      assert.strictEqual(site.requests[0]?.headers.host, "www.example.com")
      const later = yield* Effect.flip(
        Effect.flatMap(Egress, ({ get }) => get(page)).pipe(Effect.provide(egressLayer(web)))
      )
      assert.strictEqual(later.message, refusal)
      assert.strictEqual(web.dialed.length, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("a host name is checked again at a redirect to itself", () =>
    Effect.gen(function* () {
      const site = yield* startSite((_, response) => redirect(response, "/again"))
      const changes = [[publicAddress], [publicAddress], ["127.0.0.1"]]
      const web = makeTestWeb({ names: { "www.example.com": changes }, port: site.port })
      assert.strictEqual((yield* Effect.flip(get(web, page))).message, refusal)
      assert.strictEqual(web.dialed.length, 2)
    }).pipe(Effect.scoped)
  )

  it.effect("a host name is refused if one of its addresses is private", () =>
    Effect.gen(function* () {
      for (const notPublic of ["127.0.0.1", "::1", "::ffff:169.254.169.254", "64:ff9b::a00:1"]) {
        const web = makeTestWeb({
          names: { "www.example.com": [[publicAddress, notPublic, otherPublicAddress]] }
        })
        assert.strictEqual((yield* Effect.flip(get(web, page))).message, refusal)
        assert.deepStrictEqual(web.dialed, [])
      }
    })
  )

  it.effect("a host name is tried at its other addresses when one accepts no connection", () =>
    Effect.gen(function* () {
      const site = yield* startSite((_, response) => response.end("hello"))
      const web = makeTestWeb({
        names: { "www.example.com": [[otherPublicAddress, publicAddress]] },
        port: site.port,
        deaf: [publicAddress]
      })
      assert.strictEqual((yield* get(web, page)).status, 200)
      assert.deepStrictEqual(web.dialed, [`${publicAddress}:80`, `${otherPublicAddress}:80`])
    }).pipe(Effect.scoped)
  )
})

describe("redirects", () => {
  it.effect("redirects are followed up to the limit", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) => {
        const left = Number(url?.slice(1))
        if (left === 0) response.end("there")
        else redirect(response, `/${left - 1}#part`, 307)
      })
      const web = makeTestWeb({ names, port: site.port })
      const answer = yield* get(web, `http://www.example.com/${redirectsMax}#top`)
      assert.strictEqual(answer.url, "http://www.example.com/0")
      assert.strictEqual(site.requests.length, redirectsMax + 1)
      const error = yield* Effect.flip(get(web, `http://www.example.com/${redirectsMax + 1}`))
      assert.deepInclude(error, { _tag: "EgressFailed", reason: "redirects" })
      assert.strictEqual(site.requests.length, 2 * (redirectsMax + 1))
    }).pipe(Effect.scoped)
  )

  it.effect("redirects in a loop end with an error", () =>
    Effect.gen(function* () {
      const site = yield* startSite((_, response) => redirect(response, page, 301))
      const error = yield* Effect.flip(get(makeTestWeb({ names, port: site.port }), page))
      assert.deepInclude(error, { reason: "redirects" })
      assert.strictEqual(site.requests.length, redirectsMax + 1)
    }).pipe(Effect.scoped)
  )

  it.effect("redirects from https to http are not followed, and others between the two are", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) => {
        if (url === "/down") redirect(response, page)
        else if (url === "/up") redirect(response, "https://www.example.com/page")
        else response.end("there")
      })
      const web = makeTestWeb({ names, port: site.port })
      const error = yield* Effect.flip(get(web, "https://www.example.com/down"))
      assert.strictEqual(error.message, refusal)
      assert.strictEqual((yield* get(web, "http://www.example.com/up")).url, "https://www.example.com/page")
    }).pipe(Effect.scoped)
  )

  it.effect("redirects that only a browser would follow are returned as pages", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) =>
        url === "/none"
          ? response.writeHead(302).end("no location")
          : response.writeHead(200, { refresh: "0; url=http://10.0.0.1/" }).end("<meta http-equiv=refresh>")
      )
      const web = makeTestWeb({ names, port: site.port })
      assert.strictEqual((yield* get(web, page)).status, 200)
      assert.strictEqual((yield* get(web, "http://www.example.com/none")).status, 302)
      assert.strictEqual(site.requests.length, 2)
    }).pipe(Effect.scoped)
  )

  it.effect("redirects to another origin drop credentials, and don't send a posted document again", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) => {
        if (url === "/away") redirect(response, "https://other.example.net/back", 307)
        else if (url === "/back") redirect(response, "https://www.example.com/end", 307)
        else response.end("there")
      })
      const web = makeTestWeb({ names, port: site.port })
      const options = { headers: { accept: "text/css" }, credentials: { "x-key": Redacted.make("secret") } }
      yield* get(web, "https://www.example.com/away", options)
      assert.deepStrictEqual(
        site.requests.map(({ headers }) => [headers.host, headers["x-key"], headers.accept]),
        [
          ["www.example.com", "secret", "text/css"],
          ["other.example.net", undefined, "text/css"],
          ["www.example.com", "secret", "text/css"]
        ]
      )
      const post = Effect.flatMap(Egress, ({ postJson }) =>
        Effect.all([
          postJson("https://www.example.com/end", '{"q":"x"}', options),
          Effect.flip(postJson("https://www.example.com/away", '{"q":"x"}', options))
        ])
      )
      const [answer, error] = yield* Effect.provide(post, egressLayer(web))
      assert.strictEqual(answer.status, 200)
      assert.deepInclude(error, { reason: "redirects" })
      const [posted] = site.requests.slice(3)
      assert.deepInclude(posted?.headers, { "content-type": "application/json", "content-length": "9" })
      assert.strictEqual(site.requests.length, 5)
    }).pipe(Effect.scoped)
  )
})

describe("a request", () => {
  it.effect("a request sends no cookies and nothing about the user", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) => {
        response.setHeader("set-cookie", ["a=1; Path=/", "b=2"])
        if (url === "/page") redirect(response, "/next")
        else response.end("there")
      })
      const web = makeTestWeb({ names, port: site.port })
      yield* get(web, page)
      yield* get(web, page)
      const said = new Set(site.requests.flatMap(({ headers }) => Object.keys(headers)))
      assert.deepStrictEqual([...said].toSorted(), [
        "accept",
        "accept-encoding",
        "connection",
        "host",
        "user-agent"
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("a request goes through no proxy of the environment", () =>
    Effect.gen(function* () {
      const proxy = yield* startSite((_, response) => response.end("proxy"))
      const site = yield* startSite((_, response) => response.end("site"))
      const variables = [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "NODE_USE_ENV_PROXY"
      ]
      const before = variables.map((name) => [name, process.env[name]] as const)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const [name, value] of before) {
            if (value === undefined) delete process.env[name]
            else process.env[name] = value
          }
        })
      )
      for (const name of variables) process.env[name] = `http://127.0.0.2:${proxy.port}`
      const answer = yield* get(makeTestWeb({ names, port: site.port }), page)
      assert.strictEqual(Buffer.from(answer.bytes).toString(), "site")
      assert.strictEqual(proxy.requests.length, 0)
    }).pipe(Effect.scoped)
  )

  it.effect("a request to an address from the settings may use any port, at that origin only", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) =>
        url === "/away" ? redirect(response, "http://other.example.net:8888/") : response.end("there")
      )
      const web = makeTestWeb({ names, port: site.port })
      const options = { isConfigured: true }
      assert.strictEqual((yield* get(web, "http://www.example.com:8888/", options)).status, 200)
      const error = yield* Effect.flip(get(web, "http://www.example.com:8888/away", options))
      assert.strictEqual(error.message, refusal)
      assert.strictEqual((yield* Effect.flip(get(web, "http://www.example.com:8888/"))).message, refusal)
    }).pipe(Effect.scoped)
  )

  it.effect("a request closes its connection, whatever the outcome", () =>
    Effect.gen(function* () {
      const site = yield* startSite(({ url }, response) => {
        if (url === "/404") response.writeHead(404).end("x".repeat(100_000))
        else if (url === "/image") response.writeHead(200, { "content-type": "image/png" }).end("x")
        else response.end("there")
      })
      const web = makeTestWeb({ names, port: site.port })
      const accepts = (mediaType: string) => mediaType !== "image/png"
      yield* get(web, page, { accepts })
      const missing = yield* get(web, "http://www.example.com/404", { accepts })
      assert.deepInclude(missing, { status: 404, isCut: false })
      assert.strictEqual(missing.bytes.length, 0)
      const error = yield* Effect.flip(get(web, "http://www.example.com/image", { accepts }))
      assert.deepInclude(error, { reason: "media_type" })
      yield* until(Effect.sync(() => site.connections() === 0))
    }).pipe(Effect.scoped)
  )
})

/** Everything that can happen to a hop, and what it is then called. */
const accidents = {
  gone: "lookup",
  deaf: "dial",
  reset: "cut",
  nonsense: "cut",
  short: "cut",
  headers: "cut",
  garbage: "encoding"
} as const

describe("a chain of requests", () => {
  it.effect("a chain of requests ends with one failure, whichever request fails", () =>
    Effect.gen(function* () {
      const hops = 4
      for (const [accident, expected] of Object.entries(accidents)) {
        for (let failing = 0; failing < hops; failing++) {
          let asked = 0
          const site = yield* startRawSite((socket) => {
            const next = asked++
            const close = "connection: close\r\ncontent-length: 0"
            if (next === failing) misbehave[accident]?.(socket)
            else if (next === hops - 1) socket.end(`HTTP/1.1 200 OK\r\n${close}\r\n\r\n`)
            else
              socket.end(
                `HTTP/1.1 302 Found\r\n${close}\r\nlocation: http://h${next + 1}.example.com/\r\n\r\n`
              )
          })
          const web = makeTestWeb({
            port: site.port,
            deaf: accident === "deaf" ? [`1.1.1.${failing}`] : [],
            lookup: (name) =>
              Effect.succeed(
                accident === "gone" && name === `h${failing}.example.com`
                  ? []
                  : [`1.1.1.${name.replace(/^h(\d).*/, "$1")}`]
              )
          })
          const error = yield* Effect.flip(get(web, "http://h0.example.com/"))
          assert.strictEqual(error.host, `h${failing}.example.com`, accident)
          if (isFailure(error)) assert.strictEqual(error.reason, expected, accident)
          else assert.include(["lookup", "dial"], expected, accident)
          assert.strictEqual(web.lookedUp.length, failing + 1)
          yield* until(Effect.sync(() => site.connections() === 0))
        }
      }
    }).pipe(Effect.scoped)
  )
})

const misbehave: Readonly<Record<string, (socket: Socket) => void>> = {
  reset: (socket) => socket.resetAndDestroy(),
  nonsense: (socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n"),
  short: (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"),
  headers: (socket) => socket.write(`HTTP/1.1 200 OK\r\n${"x-y: z\r\n".repeat(10_000)}\r\n`),
  garbage: (socket) =>
    socket.end("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello")
}

describe("PARLEY_EGRESS_ALLOW", () => {
  it.effect("PARLEY_EGRESS_ALLOW is logged as a warning once, when the service starts", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const log = Logger.layer([Logger.map(Logger.formatJson, (line) => void logged.push(line))])
      const started = (egressAllow: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const { get } = yield* Egress
          yield* Effect.flip(get("http://10.1.2.3/"))
          yield* Effect.flip(get("http://10.1.2.4/"))
        }).pipe(
          Effect.provide(
            Egress.layer.pipe(
              Layer.provide(makeTestWeb({}).network),
              Layer.provide(Layer.succeed(AppConfig, testConfig({ tools: { egressAllow } }))),
              Layer.provide(log)
            )
          )
        )
      yield* started([])
      assert.deepStrictEqual(logged, [])
      yield* started(["10.1.2.3", "fd00::7"])
      assert.strictEqual(logged.length, 1)
      for (const word of ["WARN", "PARLEY_EGRESS_ALLOW", "10.1.2.3, fd00::7"]) assert.include(logged[0], word)
    })
  )
})

describe("a server whose certificate is not trusted", () => {
  it.live("a server with an untrusted certificate is not read, and the log has reason and remedy", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const log = Logger.layer([Logger.map(Logger.formatJson, (line) => void logged.push(line))])
      const requests: Array<string> = []
      const server = createServer(selfSigned, ({ url }, response) => {
        requests.push(url ?? "")
        response.end("secret")
      })
      const port = yield* serveOnLoopback(server)
      const refused = yield* Effect.flatMap(Egress, ({ get }) =>
        Effect.flip(get(`https://127.0.0.1:${port}/page?q=private`))
      ).pipe(
        Effect.provide(
          Egress.layer.pipe(
            Layer.provide(Network.layer),
            Layer.provide(Layer.succeed(AppConfig, testConfig({ tools: { egressAllow: ["127.0.0.1"] } })))
          )
        ),
        Effect.provide(log)
      )
      assert.strictEqual(refused.message, "This address can't be reached from here.")
      const line = logged.find((one) => one.includes("certificate")) ?? assert.fail(logged.join())
      for (const word of ["WARN", "127.0.0.1", "DEPTH_ZERO_SELF_SIGNED_CERT", "NODE_EXTRA_CA_CERTS"]) {
        assert.include(line, word)
      }
      assert.notInclude(line, "q=")
      assert.deepStrictEqual(requests, [])
    }).pipe(Effect.scoped)
  )
})

describe("the tricky URLs", () => {
  it("the tricky URLs are numerous and distinct", () => {
    assert.strictEqual(new Set(trickyUrls).size, trickyUrls.length)
  })
})
