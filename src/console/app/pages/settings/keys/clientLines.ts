/** A program that is shown, under the name of its language or library. */
export interface Snippet {
  readonly name: string
  readonly code: string
}

/** The variable that every snippet reads the key from, so that no program contains it. */
export const keyVariable = "PARLEY_API_KEY"

/**
 * The lines by which programs reach the service. `url`: the address of the service, without a slash at its
 * end; `body`: of the request, as a word of a shell.
 */
export const clientLines = {
  curl: (url: string, body: string): ReadonlyArray<string> => [
    `curl -N ${url}/v1/responses \\`,
    `  -H "Authorization: Bearer $${keyVariable}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d ${body}`
  ],
  node: (url: string): ReadonlyArray<string> => [
    "// npm install openai",
    `import OpenAI from "openai"`,
    "",
    `const openai = new OpenAI({ baseURL: "${url}/openai/v1", apiKey: process.env.${keyVariable} })`
  ],
  python: (url: string): ReadonlyArray<string> => [
    "# pip install openai",
    "import os",
    "from openai import OpenAI",
    "",
    `openai = OpenAI(base_url="${url}/openai/v1", api_key=os.environ["${keyVariable}"])`
  ]
}
