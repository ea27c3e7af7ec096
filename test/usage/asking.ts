import { randomUUID } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { LimitChange } from "../../src/domain/Allowance.ts"
import { ResponseId } from "../../src/domain/Ids.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { ownersOf, type TokenRequest } from "../../src/usage/TokenCounters.ts"
import { type Spending, Usage } from "../../src/usage/Usage.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { makeCaller } from "./callers.ts"

export type Caller = Spending["caller"]

/** Usage that knows of nothing but the database, as a process of its own has it. */
export const usageLayer = Usage.layer.pipe(
  Layer.provide([Layer.succeed(AppConfig, testConfig()), termsLayer()])
)

/** One more of those on the database that there is. Without `fresh` it would be the same one again. */
export const anotherUsage = Effect.map(Layer.build(Layer.fresh(usageLayer)), (context) =>
  Context.get(context, Usage)
)

export const newResponse = () => ResponseId.make(randomUUID())

export const asking = (caller: Caller, most: number, more: Partial<TokenRequest> = {}): TokenRequest => ({
  responseId: newResponse(),
  part: 0,
  ...ownersOf(caller),
  most,
  usual: most,
  least: 1,
  ...more
})

export const spending = (caller: Caller, responseId: ResponseId, tokens: number): Spending => ({
  responseId,
  caller,
  model: "a-model",
  usage: {
    inputTokens: tokens,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reasoningTokens: 0,
    source: "provider"
  },
  toolCalls: 0,
  latencyMillis: 1,
  outcome: "completed"
})

/** Somebody new with these limits. */
export const limited = Effect.fnUntraced(function* (limits: {
  readonly daily?: LimitChange
  readonly monthly?: LimitChange
}) {
  const usage = yield* Usage
  const caller = yield* makeCaller
  yield* usage.setLimits(caller.userId, limits)
  return { usage, caller }
})

/** Lets the reservations expire, as if their process had been killed a while ago. */
export const expire = Effect.fnUntraced(function* (responseId: ResponseId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE token_reservations SET expires_at = clock_timestamp() - interval '1 second'
    WHERE response_id = ${responseId}::uuid`
})

export const at = (time: string) => TestClock.setTime(Date.parse(time))
