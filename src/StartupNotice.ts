/** What the operator sees when the service is up. */
export interface Startup {
  readonly url: string
  readonly version: string
  /** A sentence about what answers. */
  readonly models: string
  readonly dataDir: string
  /** A key made just now, to be shown this once; null on later starts, or when the operator gave one. */
  readonly firstKey: string | null
}

const curl = (url: string, key: string): ReadonlyArray<string> => [
  `  curl -N ${url}/v1/responses \\`,
  `    -H "Authorization: Bearer ${key}" \\`,
  `    -H "Content-Type: application/json" \\`,
  `    -d '{"input": "Hello! What are you, and what can you do?"}'`
]

/** The start-up output, as text that ends with a new line. */
export const startupNotice = (startup: Startup): string => {
  const shown =
    startup.firstKey === null
      ? ["  Ask something (with a key from `npm run parley -- key create --user EMAIL --name NAME`):", ""]
      : [
          "  Your first API key, shown this once and kept nowhere in readable form:",
          "",
          `    ${startup.firstKey}`,
          "",
          "  Ask something:",
          ""
        ]
  return [
    "",
    `  parley ${startup.version} is ready on ${startup.url}`,
    "",
    `  models     ${startup.models}`,
    `  reference  ${startup.url}/docs`,
    `  data       ${startup.dataDir}`,
    "",
    ...shown,
    ...curl(startup.url, startup.firstKey ?? "$PARLEY_API_KEY"),
    "",
    ""
  ].join("\n")
}
