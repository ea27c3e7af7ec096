/** What the operator sees when the service is up. */
export interface Startup {
  readonly url: string
  readonly version: string
  /** A sentence about what answers. */
  readonly models: string
  readonly dataDir: string
  /** A key made just now, to be shown this once; null on later starts, or when the operator gave one. */
  readonly firstKey: string | null
  /** The variable in which the operator gave a key, and the file that it was read from, if any. */
  readonly givenKey: { readonly name: string; readonly file: string | null } | null
}

const curl = (url: string, key: string): ReadonlyArray<string> => [
  `  curl -N ${url}/v1/responses \\`,
  `    -H "Authorization: Bearer ${key}" \\`,
  `    -H "Content-Type: application/json" \\`,
  `    -d '{"input": "Hello! What are you, and what can you do?"}'`
]

/** A text as one word of a shell's command, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The request to try, with a key that works where it is pasted and that was not shown before. */
const invitation = ({ firstKey, givenKey, url }: Startup): ReadonlyArray<string> => {
  if (firstKey !== null) {
    return [
      "  Your first API key, shown this once and kept nowhere in readable form:",
      "",
      `    ${firstKey}`,
      "",
      "  Ask something:",
      "",
      ...curl(url, firstKey)
    ]
  }
  if (givenKey === null) {
    return [
      "  Ask something (with a key from `npm run parley -- key create --user EMAIL --name NAME`):",
      "",
      ...curl(url, "$PARLEY_API_KEY")
    ]
  }
  return givenKey.file === null
    ? [`  Ask something, in a shell where ${givenKey.name} is set:`, "", ...curl(url, `$${givenKey.name}`)]
    : [
        "  Ask something, as a user who may read the key:",
        "",
        ...curl(url, `$(cat ${quoted(givenKey.file)})`)
      ]
}

/** The start-up output, as text that ends with a new line. */
export const startupNotice = (startup: Startup): string =>
  [
    "",
    `  parley ${startup.version} is ready on ${startup.url}`,
    "",
    `  models     ${startup.models}`,
    `  reference  ${startup.url}/docs`,
    `  data       ${startup.dataDir}`,
    "",
    ...invitation(startup),
    "",
    ""
  ].join("\n")
