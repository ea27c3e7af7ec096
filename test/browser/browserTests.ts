import { describe, layer, type Vitest } from "@effect/vitest"
import { Layer } from "effect"
import type { TestDatabase } from "../support/TestDatabase.ts"
import { Chromium, skipReason } from "./Chromium.ts"
import { ServedApp, type Variables } from "./ServedApp.ts"

type Tests = (it: Vitest.MethodsNonLive<Chromium | ServedApp | TestDatabase>) => void

/**
 * Tests in one Chromium against one service; skipped without Chromium. `variables` are those of the service.
 */
export const browserTests = (title: string, tests: Tests, variables: Variables = {}): void => {
  describe.skipIf(skipReason() !== null)(`${title}`, () => {
    layer(Layer.merge(Chromium.layer, ServedApp.layer(variables)), { excludeTestServices: true })(tests)
  })
}
