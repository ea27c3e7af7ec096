import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { cases } from "./Cases.ts"
import { expectationOf } from "./Expectations.ts"
import { gateApp } from "./GateApp.ts"
import { providers } from "./GateServer.ts"

const cells = Object.entries(cases).flatMap(([name, run]) =>
  providers.flatMap((provider) => {
    const { again = 0, isAbsent, isToolless = false, param = null } = expectationOf(name, provider.name)
    const cell = { id: `${provider.label}: ${name}`, provider, again, param, isToolless }
    return isAbsent === true ? [] : [[cell.id, cell, run] as const]
  })
)

layer(gateApp, { excludeTestServices: true })("The gate", (it) => {
  it.effect.each(cells)("%s", ([, cell, run]) => run(cell))

  it.effect("the gate is documented with each of its providers and cases", () =>
    Effect.sync(() => {
      const page = readFileSync(new URL("../../docs/models.md", import.meta.url), "utf8")
      const section = /^## Which providers are tested$(.*)/ms.exec(page)?.[1] ?? ""
      for (const name of [...providers.map(({ label }) => label), ...Object.keys(cases)])
        assert.include(section, name)
    })
  )
})
