import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../src/sql/Database.ts"

/** What the measurements in a browser begin with: many conversations of a user, one of which has many turns. */

export const listSize = 10_000
export const longTurns = 500
export const oldestTitle = "The oldest of all"
export const longTitle = "The one with many turns"
export const newestText = "This is the newest answer."
/** A word of one message alone, of a conversation that was used long ago. */
export const rareWord = "quetzalcoatlus"

/** The words of an answer: each is about a token. */
export const tokens = (text: string): ReadonlyArray<string> => text.match(/\s*\S{1,6}/g) ?? []

const section = (n: number): string => `## Part ${n}

A paragraph with **bold text**, \`code\`, *emphasis*, and a [link](https://example.com/${n}), which goes on for some lines so that
it is about as long as those that a model writes when it explains something. The value is $x_${n}^2 + \\sqrt{${n}}$.

- the first of some points, with a few words
- the second one, in which \`names\` occur
- the third one

| name | value | remark |
| --- | --- | --- |
| one | ${n} | short |
| two | ${n * 2} | a longer one |

\`\`\`typescript
export const part${n} = (values: ReadonlyArray<number>): number => {
  // The sum of those that are larger than the number of the part.
  return values.filter((value) => value > ${n}).reduce((sum, value) => sum + value, 0)
}
\`\`\`

`

const atLeast = (wanted: number, make: (n: number) => string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (let n = 1; words.length < wanted; n++) words.push(...tokens(make(n)))
  return words.slice(0, wanted)
}

/** Answers of so many tokens. */
export const answers: Readonly<Record<string, (wanted: number) => ReadonlyArray<string>>> = {
  "Markdown of all kinds": (wanted) => atLeast(wanted, section),
  "one paragraph": (wanted) => atLeast(wanted, (n) => `word${n} and `),
  "one block of code": (wanted) => [
    "```typescript\n",
    ...atLeast(wanted, (n) => `const value${n} = call(${n}, "text") // remark ${n}\n`)
  ]
}

/** Puts the conversations into the database of the service, past it. */
export const seed = (databaseUrl: string, email: string): Promise<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TEMPORARY TABLE wanted AS
      SELECT gen_random_uuid() AS id, (SELECT id FROM users WHERE email = ${email}) AS user_id, n,
        CASE n WHEN 0 THEN ${longTitle} WHEN ${listSize - 1}::int THEN ${oldestTitle}
          ELSE 'Conversation ' || n || ' about ' || (ARRAY['boats', 'letters', 'prices', 'rivers', 'tests'])[1 + n % 5] END AS title,
        now() - n * interval '100 minutes' AS at,
        CASE n WHEN 0 THEN ${longTurns}::int ELSE 2 END AS turns
      FROM generate_series(0, ${listSize - 1}::int) AS n`
    yield* sql`INSERT INTO conversations (id, user_id, hidden, title, turn_count, created_at, updated_at)
      SELECT id, user_id, false, title, turns, at, at FROM wanted`
    yield* sql`CREATE TEMPORARY TABLE wanted_turns AS
      SELECT gen_random_uuid() AS response_id, gen_random_uuid() AS question_id, gen_random_uuid() AS answer_id,
        id, user_id, n, at, place, turns FROM wanted, generate_series(0, turns - 1) AS place`
    yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens, created_at)
      SELECT response_id, id, user_id, place, 'bench', 100, at FROM wanted_turns`
    const filler = " A few more words, as many as people write in a message.".repeat(4)
    yield* sql`INSERT INTO items (response_id, side, position, id, user_id, item)
      SELECT response_id, 'input', 0, question_id, user_id, json_build_object('id', question_id, 'type', 'message', 'role', 'user',
        'content', json_build_array(json_build_object('type', 'input_text', 'text', 'Question ' || place || ' of ' || n || '.' || ${filler}::text)))
      FROM wanted_turns`
    const answer = `${section(1)}${filler}`
    yield* sql`INSERT INTO items (response_id, side, position, id, user_id, item)
      SELECT response_id, 'output', 0, answer_id, user_id, json_build_object('id', answer_id, 'type', 'message', 'role', 'assistant',
        'status', 'completed', 'content', json_build_array(json_build_object('type', 'output_text', 'annotations', '[]'::json,
          'logprobs', '[]'::json, 'text', CASE WHEN n = 0 AND place = turns - 1 THEN ${newestText}::text
            WHEN n = ${listSize - 2}::int THEN ${`${filler} ${rareWord}`}::text ELSE ${answer}::text END)))
      FROM wanted_turns`
    yield* sql`ANALYZE conversations, turns, items`
  }).pipe(
    Effect.provide(
      Database.layerAddress(
        { url: Redacted.make(databaseUrl) },
        { connectionsMax: 1, connectSeconds: 10, statementSeconds: 120 }
      )
    ),
    Effect.runPromise
  )
