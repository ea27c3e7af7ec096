import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "node:tls"
import { Context, Effect, Layer } from "effect"
import { freePort } from "../support/freePort.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { siteCertificate } from "./siteCertificate.ts"

export const proxyNames = ["nginx", "Caddy", "HAProxy"] as const
export type ProxyName = (typeof proxyNames)[number]

/** The name that the examples give to the installation. */
export const siteName = "parley.example.com"

const example = (path: string) => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8")

/**
 * Replaces what stands in an example as often as it must be there; an example that no longer has it fails.
 */
const replaced = (text: string, ...pairs: ReadonlyArray<readonly [string, string]>): string =>
  pairs.reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`The example has no ${from}`)
    return result.replaceAll(from, to)
  }, text)

/** The address of the service in the examples. */
const exampleAddress = "127.0.0.1:3000"

/** Repeats the line of the service for each process, with a name of its own where it has one. */
const forEachProcess = (text: string, services: ReadonlyArray<string>): string =>
  text.replace(new RegExp(`^.*${exampleAddress}.*$`, "m"), (line) =>
    services
      .map((service, index) => line.replace("parley1", `parley${index + 1}`).replace(exampleAddress, service))
      .join("\n")
  )

interface Place {
  readonly directory: string
  /** Host and port of each process of the service. */
  readonly services: ReadonlyArray<string>
  readonly http: number
  readonly https: number
}

interface Proxy {
  readonly program: string
  readonly version: ReadonlyArray<string>
  /**
   * Writes the example, with this place's ports and paths and nothing else changed, and says how to run it.
   */
  readonly prepare: (place: Place) => ReadonlyArray<string>
}

const proxies: Record<ProxyName, Proxy> = {
  nginx: {
    program: "nginx",
    version: ["-v"],
    prepare: ({ directory, http, https, services }) => {
      writeFileSync(
        join(directory, "site.conf"),
        replaced(
          forEachProcess(example("nginx/parley.conf"), services),
          ["/etc/parley/tls", directory],
          ["listen 443", `listen 127.0.0.1:${https}`],
          ["    listen [::]:443 ssl http2;\n", ""],
          ["listen 80", `listen 127.0.0.1:${http}`],
          ["    listen [::]:80;\n", ""]
        )
      )
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((name) => `${name}_temp_path ${directory}/${name};`)
        .join(" ")
      writeFileSync(
        join(directory, "nginx.conf"),
        `daemon off; master_process off; pid ${directory}/pid; error_log stderr; events {}\n` +
          `http { access_log off; ${paths} include ${directory}/site.conf; }\n`
      )
      return ["-p", directory, "-e", "stderr", "-c", join(directory, "nginx.conf")]
    }
  },
  Caddy: {
    program: "caddy",
    version: ["version"],
    prepare: ({ directory, http, https, services }) => {
      const site = replaced(
        example("caddy/Caddyfile"),
        [exampleAddress, services.join(" ")],
        [`${siteName} {`, `${siteName} {\n\ttls ${directory}/fullchain.pem ${directory}/privkey.pem`]
      )
      const file = join(directory, "Caddyfile")
      writeFileSync(file, `{\n\tadmin off\n\thttp_port ${http}\n\thttps_port ${https}\n}\n${site}`)
      return ["run", "--adapter", "caddyfile", "--config", file]
    }
  },
  HAProxy: {
    program: "haproxy",
    version: ["-v"],
    prepare: ({ directory, http, https, services }) => {
      const file = join(directory, "haproxy.cfg")
      writeFileSync(
        file,
        replaced(
          forEachProcess(example("haproxy/haproxy.cfg"), services),
          ["/etc/parley/tls", directory],
          ["bind :443", `bind 127.0.0.1:${https}`],
          ["bind :80", `bind 127.0.0.1:${http}`]
        )
      )
      return ["-f", file]
    }
  }
}

/** Debian has servers where the PATH of a user doesn't look. */
const searchPath = `${process.env["PATH"]}:/usr/sbin`

const isInstalled = (name: ProxyName): boolean => {
  const { program, version } = proxies[name]
  try {
    execFileSync(program, version, { env: { PATH: searchPath }, stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

export const installedProxies: ReadonlyArray<ProxyName> = proxyNames.filter(isInstalled)

const accepts = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect({ port, host: "127.0.0.1", servername: siteName, ca: siteCertificate.cert })
    socket.once("error", () => resume(Effect.succeed(false)))
    socket.once("secureConnect", () => resume(Effect.succeed(true)))
    return Effect.sync(() => socket.destroy())
  })

/**
 * Runs the example of a proxy in front of processes of the service, each a host and a port, until the scope
 * closes.
 */
export const startProxy = Effect.fnUntraced(function* (name: ProxyName, services: ReadonlyArray<string>) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-proxy-"))),
    (path) => Effect.sync(() => removeDirectory(path))
  )
  const [http, https] = yield* Effect.all([freePort, freePort], { concurrency: 2 })
  mkdirSync(join(directory, "home"))
  writeFileSync(join(directory, "fullchain.pem"), siteCertificate.cert)
  writeFileSync(join(directory, "privkey.pem"), siteCertificate.key)
  writeFileSync(join(directory, "parley.pem"), siteCertificate.cert + siteCertificate.key)
  const { prepare, program } = proxies[name]
  const args = prepare({ directory, services, http, https })
  let output = ""
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(program, args, { env: { PATH: searchPath, HOME: join(directory, "home") } })),
    (running: ChildProcess) => Effect.sync(() => running.kill("SIGKILL"))
  )
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes) => (output += bytes))
  yield* until(
    Effect.suspend(() =>
      child.exitCode === null
        ? accepts(https)
        : Effect.die(new Error(`${program} ended with ${child.exitCode}: ${output}`))
    )
  )
  return { http, https }
})

/** Every proxy that is installed here, each with its example in front of the service of TestApp. */
export class ReverseProxies extends Context.Service<
  ReverseProxies,
  { readonly ports: (name: ProxyName) => { readonly http: number; readonly https: number } }
>()("parley/test/ReverseProxies") {
  static readonly layer = Layer.effect(
    ReverseProxies,
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const started = yield* Effect.forEach(
        installedProxies,
        (name) => Effect.map(startProxy(name, [new URL(url).host]), (ports) => [name, ports] as const),
        { concurrency: "unbounded" }
      )
      const all = new Map(started)
      return { ports: (name) => all.get(name)! }
    })
  )
}
