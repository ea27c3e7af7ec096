/** The rooms beside api: one service each. */
const serviceRooms = [
  "auth",
  "plans",
  "usage",
  "conversations",
  "files",
  "retrieval",
  "projects",
  "providers",
  "routing",
  "tools"
]

const belowServices = [
  "runtime",
  "domain",
  "settings",
  "telemetry",
  "sql",
  "documents",
  "audit",
  "confinement"
]
const belowHttp = [
  ...belowServices,
  "api",
  "postgres",
  ...serviceRooms,
  "backup",
  "schemas",
  "responses",
  "embeddings",
  "erasure"
]

/** The rooms that each room may import besides itself. App are the files of src itself. */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  runtime: [],
  domain: ["runtime"],
  settings: ["runtime", "domain"],
  telemetry: ["runtime", "domain", "settings"],
  api: ["runtime", "domain"],
  // What other programs import as parley/api.
  sdk: ["domain", "api"],
  migrations: [],
  postgres: ["runtime", "domain", "settings", "telemetry"],
  sql: ["runtime", "domain", "settings", "telemetry", "postgres", "migrations"],
  confinement: [],
  documents: ["runtime", "domain", "settings", "telemetry", "confinement"],
  audit: ["runtime", "domain", "settings", "telemetry", "sql"],
  ...Object.fromEntries(serviceRooms.map((room) => [room, belowServices])),
  // An account belongs to an organization, whose plan and license bound it.
  auth: [...belowServices, "plans"],
  // The files of a project are indexed.
  projects: [...belowServices, "retrieval"],
  // A candidate is a model of a provider.
  routing: [...belowServices, "providers"],
  // The JSON Schemas and grammars of clients, checked in a process of their own.
  schemas: ["runtime", "domain", "settings", "telemetry", "confinement"],
  responses: [...belowServices, "api", ...serviceRooms, "schemas"],
  // Vectors of texts for clients.
  embeddings: [...belowServices, "api", ...serviceRooms],
  // Deletion and export reach into every room that keeps something of a user.
  erasure: [...belowServices, "plans", "auth", "usage", "conversations", "files", "projects"],
  // Its archives hold what the store of files holds.
  backup: [...belowServices, "postgres", "files"],
  http: belowHttp,
  admin: [...belowHttp, "http"],
  jobs: [...belowHttp, "http"],
  console: [...belowHttp, "http", "admin", "jobs"],
  // The second profile: another rendering of what responses does.
  openai: [...belowHttp, "http", "jobs"],
  // The third profile. What clients keep for the service is sealed as in the second.
  anthropic: [...belowHttp, "http", "openai"],
  // The browser's part of console. scripts/check-architecture.ts keeps it to the contracts of admin and console.
  app: ["domain", "api", "admin", "console"],
  cli: [...belowHttp, "http", "admin"],
  App: [...belowHttp, "http", "admin", "jobs", "console", "openai", "anthropic"]
}

/** Places that may import more than the rest of their room. */
const places: ReadonlyArray<{ readonly name: string; readonly room: string; readonly files: Array<string> }> =
  [
    { name: "tools/egress", room: "tools", files: ["src/tools/Egress.ts", "src/tools/egress/**"] },
    { name: "retrieval/vectors", room: "retrieval", files: ["src/retrieval/vectors/**"] },
    { name: "plans/Policy", room: "plans", files: ["src/plans/Policy.ts"] },
    { name: "api/anthropic", room: "api", files: ["src/api/anthropic/**"] },
    // A hash for each request: Effect's digest would make every encoder an effect.
    { name: "providers/PromptCacheKey", room: "providers", files: ["src/providers/PromptCacheKey.ts"] },
    {
      name: "http/Server, http/BodyText, http/FrameOutput and http/Metrics",
      room: "http",
      files: ["src/http/Server.ts", "src/http/BodyText.ts", "src/http/FrameOutput.ts", "src/http/Metrics.ts"]
    },
    // The doctor asks the service itself through its public address.
    { name: "admin/HttpProbe", room: "admin", files: ["src/admin/HttpProbe.ts"] }
  ]

interface Confined {
  readonly module: string
  readonly names?: string
  /** Rooms and places. */
  readonly in: ReadonlyArray<string>
}

/** Rooms and places that send requests. */
const callers = [
  "sdk",
  "providers",
  "telemetry",
  "retrieval/vectors",
  "tools/egress",
  "admin/HttpProbe",
  "cli",
  "app"
]

/** Rooms that answer requests. */
const answerers = ["http", "admin", "console", "openai", "anthropic", "App"]

/** Modules, and names of modules, that only some may import as values; as types, everybody may. */
const confined: ReadonlyArray<Confined> = [
  { module: "^effect/http-api", in: ["api", "sdk", "app", "cli", ...answerers] },
  {
    module: "^effect/http$",
    names: "^(HttpServer|HttpRouter|HttpMiddleware|HttpEffect)",
    in: answerers
  },
  { module: "^effect/http/(HttpServer|HttpRouter|HttpMiddleware|HttpEffect)", in: answerers },
  {
    module: "^effect/http$",
    names: "^(HttpClient|FetchHttpClient)",
    in: callers
  },
  {
    module: "^effect/http/(HttpClient|FetchHttpClient)",
    in: callers
  },
  {
    module: "^@effect/platform-node$",
    names: "^(NodeHttpClient|Undici)",
    in: ["providers", "retrieval/vectors", "tools/egress", "cli"]
  },
  {
    module: "^@effect/platform-node/(NodeHttpClient|Undici)",
    in: ["providers", "retrieval/vectors", "tools/egress", "cli"]
  },
  { module: "^@effect/platform-node$", names: "^NodeHttpServer", in: ["http", "App"] },
  { module: "^(effect/sql|@effect/sql-pg)", in: ["sql", "migrations", "audit", "backup", ...serviceRooms] },
  {
    module: "^node:",
    in: [
      "sql",
      "postgres",
      "settings",
      "telemetry",
      "confinement",
      "documents",
      "backup",
      "tools/egress",
      "schemas",
      "providers/PromptCacheKey",
      "http/Server, http/BodyText, http/FrameOutput and http/Metrics",
      "App"
    ]
  },
  // Services take ids. The contract only declares who provides the user.
  {
    module: "/Account\\.ts$",
    names: "^CurrentUser$",
    in: ["api", "responses", "embeddings", "http", "admin", "jobs", "console", "openai", "anthropic"]
  },
  // A search demands the proof of a membership.
  { module: "/Project\\.ts$", names: "^proveMembership$", in: ["plans/Policy"] }
]

/** What everything in a room, or in a place of it, must not import. */
const restrictedIn = (room: string, names: ReadonlyArray<string>) => {
  const refused = Object.keys(arrows).filter((other) => other !== room && !arrows[room]?.includes(other))
  // Some directories have names of rooms, which lie further up; scripts/check-architecture.ts resolves the paths.
  const depth = room === "app" ? "{3,}" : names.includes("api/anthropic") ? "{2,}" : "+"
  const up = room === "App" ? "^\\./" : `^(\\.\\./)${depth}`
  return [
    { regex: `${up}(${refused.join("|")})/`, message: `Imports go down: ${room} must not import this room.` },
    { regex: "^(\\.\\./)+(App|main)\\.ts$", message: "Nothing imports the wiring." },
    {
      regex: "^(\\.\\./)+(src|test|scripts)/",
      message: "src imports nothing outside of src and migrations."
    },
    // It holds the version.
    ...(room === "settings"
      ? []
      : [{ regex: "package\\.json$", message: "src/settings/Build.ts reads package.json." }]),
    ...(room === "app"
      ? []
      : [{ regex: "^\\./(console/)?app/", message: "The service imports nothing of the browser's part." }]),
    ...confined
      .filter((one) => !one.in.some((name) => names.includes(name)))
      .map((one) => ({
        regex: one.module,
        ...(one.names === undefined ? {} : { importNamePattern: one.names }),
        allowTypeImports: true,
        message: `Only ${one.in.join(", ")} may use it; others may name its types.`
      }))
  ]
}

const restriction = (files: Array<string>, room: string, names: ReadonlyArray<string>) => ({
  files,
  rules: { "no-restricted-imports": ["error", { patterns: restrictedIn(room, names) }] }
})

const filesOf = (room: string): string =>
  room === "App"
    ? "src/*.ts"
    : room === "app"
      ? "src/console/app/**"
      : room === "migrations"
        ? "migrations/**"
        : `src/${room}/**`

const property = (object: string, name: string, instead: string) => ({
  object,
  property: name,
  message: `Use ${instead}.`
})

/** What src never reads or calls, and what to use in its place. */
const words = {
  "no-console": "error",
  "no-restricted-properties": [
    "error",
    property("process", "env", "AppConfig"),
    property("globalThis", "process", "AppConfig"),
    property("Date", "now", "Clock or DateTime"),
    property("performance", "now", "Clock"),
    property("Math", "random", "SecureRandom of effect/crypto"),
    property("JSON", "parse", "a Schema"),
    ...["runPromise", "runPromiseExit", "runSync", "runSyncExit", "runFork", "runCallback"].map((name) =>
      property("Effect", name, "an Effect; only the entry points run one")
    )
  ],
  "no-restricted-globals": [
    "error",
    ...["setTimeout", "setInterval", "setImmediate"].map((name) => ({
      name,
      message: "Use Effect.sleep or a Schedule."
    }))
  ]
}

export default {
  plugins: ["typescript", "unicorn", "oxc", "import", "promise", "vitest"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  options: { reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["dist", "node_modules", "coverage"],
  rules: {
    eqeqeq: ["error", "always", { null: "ignore" }],
    "no-var": "error",
    "prefer-const": "error",
    "no-throw-literal": "error",
    "no-warning-comments": "error",
    "max-lines": ["error", { max: 400 }],
    // A circle of types is a circle to read, too.
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "typescript/ban-ts-comment": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/no-require-imports": "error",
    "unicorn/prefer-node-protocol": "error",
    "vitest/no-focused-tests": "error",
    "vitest/no-disabled-tests": "error",
    "no-underscore-dangle": "off",
    "no-await-in-loop": "off",
    "promise/valid-params": "off",
    "oxc/no-map-spread": "off",
    "unicorn/consistent-function-scoping": "off",
    "no-shadow": "off",
    "unicorn/prefer-set-has": "off",
    "unicorn/no-array-sort": "off"
  },
  overrides: [
    ...Object.keys(arrows).map((room) => restriction([filesOf(room)], room, [room])),
    ...places.map(({ files, name, room }) => restriction(files, room, [room, name])),
    { files: ["src/**", "migrations/**"], rules: words },
    {
      files: ["src/console/app/**"],
      plugins: ["react", "jsx-a11y"],
      rules: {
        // A page has no runtime of Effect around it: its events end in promises, and its timers are the browser's.
        "no-restricted-properties": "off",
        "no-restricted-globals": "off",
        "import/no-unassigned-import": ["error", { allow: ["**/*.css"] }],
        "react/react-in-jsx-scope": "off",
        "jsx-a11y/prefer-tag-over-role": "off",
        // In a dialog, the field to type into has the focus.
        "jsx-a11y/no-autofocus": "off",
        // What scrolls can be scrolled by keys.
        "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: [], roles: ["region"] }]
      }
    },
    {
      // Safari takes the roles from tables whose rows are shown as cards.
      files: ["src/console/app/ui/Table.tsx"],
      plugins: ["jsx-a11y"],
      rules: {
        "jsx-a11y/no-redundant-roles": "off",
        "jsx-a11y/no-interactive-element-to-noninteractive-role": "off"
      }
    },
    {
      files: ["test/**"],
      rules: {
        "typescript/no-non-null-assertion": "off",
        "max-lines": "off",
        // The rules of vitest don't see it.effect.only and the like.
        "no-restricted-properties": ["error", { property: "only" }, { property: "skip" }]
      }
    }
  ]
}
