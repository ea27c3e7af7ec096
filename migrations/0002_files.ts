import { Effect } from "effect"
import { PersistedQueue } from "effect/persistence"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A file as its owner sees it. `storage_key` names its bytes in the store, and those of no other file. An id is made in the
  // order of time, so that it also orders lists.
  yield* sql`CREATE TABLE files (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    filename text NOT NULL,
    purpose text NOT NULL,
    bytes bigint NOT NULL CHECK (bytes >= 0),
    sha256 bytea NOT NULL,
    storage_key text NOT NULL UNIQUE,
    status text NOT NULL CHECK (status IN ('uploaded', 'processed', 'error')),
    status_details text,
    media_type text,
    created_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX files_owner ON files (user_id, id)`
  // Finds the files whose text nobody reads any more, for the sweep.
  yield* sql`CREATE INDEX files_uploaded ON files (created_at) WHERE status = 'uploaded'`

  // What each user has, kept beside the rows that it counts, in the same statements.
  yield* sql`CREATE TABLE file_usage (
    user_id uuid PRIMARY KEY REFERENCES users (id),
    files integer NOT NULL DEFAULT 0 CHECK (files >= 0),
    bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
  )`

  // What a file says, once it has been read; the row comes and goes with the file. `pages` holds where in the text each page
  // starts, where the file has pages.
  yield* sql`CREATE TABLE file_texts (
    file_id uuid PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
    extractor text NOT NULL,
    text text NOT NULL,
    truncated boolean NOT NULL,
    pages integer[],
    created_at timestamptz NOT NULL DEFAULT now()
  )`

  // Bytes in PostgreSQL, in pieces, for installations that keep everything there.
  yield* sql`CREATE TABLE file_blobs (
    key text PRIMARY KEY,
    bytes bigint NOT NULL,
    complete boolean NOT NULL DEFAULT false,
    touched_at timestamptz NOT NULL DEFAULT now()
  )`
  yield* sql`CREATE TABLE file_blob_pieces (
    key text NOT NULL REFERENCES file_blobs (key) ON DELETE CASCADE,
    position integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (key, position)
  )`
  yield* sql`ALTER TABLE file_blob_pieces ALTER COLUMN data SET STORAGE EXTERNAL`

  // The processes that keep files in a directory, so that two of them find out when it isn't the same one.
  yield* sql`CREATE TABLE file_store_replicas (
    id uuid PRIMARY KEY,
    directory uuid NOT NULL,
    location text NOT NULL,
    seen_at timestamptz NOT NULL
  )`

  // The queue of the files whose text is to be read. Its tables are Effect's own; they are made here, so that processes
  // which start at the same moment find them in place.
  yield* Effect.scoped(PersistedQueue.makeStoreSql({ tableName: "file_jobs" }))
})
