import { posix } from "node:path"
import { isNode, lineOf, nameOf, type Source, type SyntaxNode, visit, type Violation } from "./Source.ts"

/** The rooms beside api: one service each. */
const serviceRooms = [
  "auth",
  "plans",
  "usage",
  "conversations",
  "files",
  "retrieval",
  "providers",
  "routing",
  "tools"
]

/** What a service room may import besides itself. */
const belowServices = ["domain", "settings", "telemetry", "sql", "documents"]

/** What each room may import besides itself. */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  settings: ["domain"],
  telemetry: ["domain", "settings"],
  api: ["domain"],
  migrations: [],
  postgres: ["domain", "settings", "telemetry"],
  sql: ["domain", "settings", "telemetry", "postgres", "migrations"],
  documents: ["domain", "settings", "telemetry"],
  ...Object.fromEntries(serviceRooms.map((room) => [room, belowServices])),
  // An account belongs to an organization, whose plan and license bound it.
  auth: [...belowServices, "plans"],
  // A candidate is a model of a provider.
  routing: [...belowServices, "providers"],
  responses: [...belowServices, "api", ...serviceRooms],
  http: [...belowServices, "api", "postgres", ...serviceRooms, "responses"],
  admin: [...belowServices, "api", "postgres", ...serviceRooms, "responses", "http"],
  cli: [...belowServices, "api", "postgres", ...serviceRooms, "responses", "http", "admin"],
  App: [...belowServices, "api", "postgres", ...serviceRooms, "responses", "http", "admin"]
}

/** The room of a file of src or migrations, or null for a file anywhere else. */
export const roomOf = (path: string): string | null => {
  if (path.startsWith("migrations/")) return "migrations"
  const [src, first, ...rest] = path.split("/")
  if (src !== "src" || first === undefined) return null
  return rest.length > 0 ? first : "App"
}

/** The only way out to the web. */
const isEgress = (path: string): boolean =>
  path === "src/tools/Egress.ts" || path.startsWith("src/tools/egress/")

/** The client of the embeddings server. */
const isVectors = (path: string): boolean => path.startsWith("src/retrieval/vectors/")

const isIn =
  (...rooms: ReadonlyArray<string>) =>
  (path: string): boolean =>
    rooms.includes(roomOf(path) ?? "")

/** Modules that only some rooms may import: `name` is the module and, where it has one, the imported name behind a #. */
const confined: ReadonlyArray<{
  readonly name: RegExp
  readonly isAllowed: (path: string) => boolean
  readonly where: string
}> = [
  {
    name: /^effect\/http-api/,
    isAllowed: isIn("api", "http", "admin", "cli", "App"),
    where: "api, http, admin, cli and App"
  },
  {
    name: /^effect\/http(#|\/)(HttpServer|HttpRouter|HttpMiddleware|HttpEffect)/,
    isAllowed: isIn("http", "admin", "App"),
    where: "http, admin and App"
  },
  {
    name: /^effect\/http(#|\/)(HttpClient|FetchHttpClient)/,
    isAllowed: (path) => isIn("providers", "telemetry", "cli")(path) || isVectors(path) || isEgress(path),
    where: "providers, telemetry, retrieval/vectors, tools/egress and cli"
  },
  {
    name: /^@effect\/platform-node(#|\/)(NodeHttpClient|Undici)/,
    isAllowed: (path) => isIn("providers", "cli")(path) || isVectors(path) || isEgress(path),
    where: "providers, retrieval/vectors, tools/egress and cli"
  },
  {
    name: /^@effect\/platform-node(#|\/)NodeHttpServer/,
    isAllowed: isIn("http", "App"),
    where: "http and App"
  },
  {
    name: /^(effect\/sql|@effect\/sql-pg)/,
    isAllowed: isIn("sql", "migrations", ...serviceRooms),
    where: "the service rooms, sql and migrations"
  },
  {
    name: /^node:/,
    isAllowed: (path) =>
      // documents: what runs in a process of its own, and what starts and watches that.
      isIn("sql", "postgres", "settings", "telemetry", "documents", "App")(path) ||
      path === "src/http/Server.ts" ||
      path === "src/http/Metrics.ts" ||
      isEgress(path),
    where: "sql, postgres, settings, telemetry, documents, tools/egress, http/Server, http/Metrics and App"
  },
  {
    // The contract only declares who provides it.
    name: /domain\/Account\.ts(#CurrentUser)?$/,
    isAllowed: isIn("api", "responses", "http", "admin"),
    where: "responses, http and admin"
  },
  {
    // A search demands the proof that this makes.
    name: /domain\/Project\.ts(#proveMembership)?$/,
    isAllowed: (path) => path === "src/plans/Policy.ts",
    where: "plans/Policy"
  },
  {
    name: /^(?!effect(\/|#|$)|src\/)/,
    isAllowed: (path) => roomOf(path) !== "domain",
    where: "any room but domain"
  }
]

/** Names of the past: Effect 4.1 has neither these paths nor these packages. */
const gone = /^(effect\/unstable|@effect\/(platform|schema|sql|ai)(\/|$))/

interface Import {
  readonly module: string
  /** The imported names; "*" for all of them. */
  readonly names: ReadonlyArray<string>
  readonly isType: boolean
  readonly line: number
}

const importedNames = (node: SyntaxNode): ReadonlyArray<string> => {
  const specifiers = Array.isArray(node["specifiers"]) ? node["specifiers"].filter(isNode) : []
  if (specifiers.length === 0) return ["*"]
  return specifiers
    .filter((specifier) => specifier["importKind"] !== "type" && specifier["exportKind"] !== "type")
    .flatMap((specifier) =>
      specifier.type === "ImportNamespaceSpecifier"
        ? "*"
        : (nameOf(specifier["imported"] ?? specifier["local"]) ?? [])
    )
}

const importsOf = (source: Source): ReadonlyArray<Import> => {
  const found: Array<Import> = []
  visit(source.program, (node) => {
    const module = nameOf(node["source"])
    if (module === null || !/^(Import|Export)/.test(node.type)) return
    const isType = node["importKind"] === "type" || node["exportKind"] === "type"
    found.push({ module, names: importedNames(node), isType, line: lineOf(source, node.start) })
  })
  return found
}

/** Packages whose modules belong to different rooms: whoever imports from them says what. */
const manyModules = ["effect/http", "@effect/platform-node"]

const targetOf = (path: string, module: string): string =>
  module.startsWith(".") ? posix.join(posix.dirname(path), module) : module

/** What is wrong with an import that goes to another file of the project. */
const arrowProblems = (room: string, target: string): ReadonlyArray<string> => {
  // It holds the version.
  if (target === "package.json" && (room === "App" || room === "admin" || room === "cli")) return []
  const targetRoom = roomOf(target)
  if (targetRoom === null) return [`${target} is outside of src and migrations`]
  if (targetRoom === room || (arrows[room] ?? []).includes(targetRoom)) return []
  return [`${room} must not import ${targetRoom} (${target})`]
}

const confinementProblems = (path: string, { isType, module, names }: Import): ReadonlyArray<string> => {
  // A type says what is passed on; only a value is used.
  if (isType) return []
  const target = targetOf(path, module)
  const meant = names.map((name) => (name === "*" ? target : `${target}#${name}`))
  const vague =
    names.includes("*") && manyModules.includes(module) ? [`${module}: import the names that are used`] : []
  const misplaced = confined
    .filter(({ isAllowed, name }) => meant.some((text) => name.test(text)) && !isAllowed(path))
    .map(({ where }) => `${module} belongs to ${where} only`)
  return [...vague, ...misplaced]
}

const packageProblems = (module: string, dependencies: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (gone.test(module)) return [`${module} is no module of Effect 4.1`]
  const isKnown =
    module.startsWith("node:") ||
    dependencies.some((name) => module === name || module.startsWith(`${name}/`))
  return isKnown ? [] : [`${module} is not in the dependencies of package.json`]
}

/** Whether every import goes down, names a dependency, and leaves confined modules where they belong. */
export const checkRooms = (source: Source, dependencies: ReadonlyArray<string>): ReadonlyArray<Violation> => {
  const { path } = source
  const room = roomOf(path)
  if (room === null) return []
  return importsOf(source).flatMap((found) => {
    const { line, module } = found
    const violation = (rule: string) => (message: string) => ({ path, line, rule, message })
    const isRelative = module.startsWith(".")
    return [
      ...(isRelative ? arrowProblems(room, targetOf(path, module)) : []).map(violation("arrow")),
      ...(isRelative ? [] : packageProblems(module, dependencies)).map(violation("package")),
      ...confinementProblems(path, found).map(violation("confined"))
    ]
  })
}
