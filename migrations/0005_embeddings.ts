import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The vector of a chunk by a model, which stands in the passage `base`: float32, little-endian, of length one. `signs` has
  // a one for each number above zero: those that agree in most of them are near each other, which is quickly counted.
  yield* sql`CREATE TABLE retrieval_embeddings (
    index_id integer NOT NULL,
    position integer NOT NULL,
    model text NOT NULL,
    base integer NOT NULL,
    signs bit varying NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (index_id, position, model),
    FOREIGN KEY (index_id, base) REFERENCES retrieval_passages (index_id, base) ON DELETE CASCADE
  )`
  yield* sql`CREATE INDEX retrieval_embeddings_passage ON retrieval_embeddings (index_id, base)`
  // Vectors don't become smaller by being packed.
  yield* sql`ALTER TABLE retrieval_embeddings ALTER COLUMN vector SET STORAGE EXTERNAL`

  // The model that all chunks of the file were embedded by; until when a process has the file for itself, or after how many
  // attempts that broke off it rests.
  yield* sql`ALTER TABLE retrieval_files
    ADD COLUMN embedded_by text,
    ADD COLUMN embedding_until timestamptz,
    ADD COLUMN embedding_attempts integer NOT NULL DEFAULT 0`
})
