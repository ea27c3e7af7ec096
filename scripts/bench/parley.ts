import { randomBytes } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { join } from "node:path"
import { Redacted } from "effect"
import { fromBytes, keyPrefix } from "../../src/auth/KeyToken.ts"
import type { Recipe } from "./server.ts"

/** Parley as it is measured: the bundle, its embedded database, the mock model server as its only model. */

const graceSeconds = 2

export const parleyRecipe = (entry: string, upstreamPort: number, directory: string): Recipe => {
  const key = Redacted.value(fromBytes(keyPrefix, randomBytes(24)))
  return {
    name: "parley",
    args: [entry],
    environment: {
      PARLEY_DATA_DIR: mkdtempSync(join(directory, "data-")),
      PARLEY_INIT_API_KEY: key,
      PARLEY_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
      OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
      OPENAI_API_KEY: "bench",
      OPENAI_MODEL: "bench-model-1"
    },
    readyPath: "/readyz",
    path: "/v1/responses",
    key
  }
}
