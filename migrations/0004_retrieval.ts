import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The index of a project. Its number stands before every row of postings, where a uuid would take as much room as the rest.
  // Positions count the chunks that were ever indexed, and none is used twice; `chunks` and `tokens` are those that the
  // postings tell of. Whoever writes postings locks this row.
  yield* sql`CREATE TABLE retrieval_indexes (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL UNIQUE REFERENCES projects (id) ON DELETE CASCADE,
    next_position integer NOT NULL DEFAULT 0,
    chunks integer NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    languages text[] NOT NULL DEFAULT '{}'
  )`

  // A file that is searchable in a project, from this row's first moment to its last. Its chunks have the positions from
  // `base` on.
  yield* sql`CREATE TABLE retrieval_files (
    project_id uuid NOT NULL,
    file_id uuid NOT NULL,
    index_id integer NOT NULL REFERENCES retrieval_indexes (id) ON DELETE CASCADE,
    filename text NOT NULL,
    language text NOT NULL,
    base integer NOT NULL,
    chunks integer NOT NULL,
    tokens integer NOT NULL,
    pages integer[],
    PRIMARY KEY (project_id, file_id),
    FOREIGN KEY (project_id, file_id) REFERENCES project_files (project_id, file_id) ON DELETE CASCADE
  )`
  yield* sql`CREATE INDEX retrieval_files_index ON retrieval_files (index_id)`

  // Some chunks that follow each other, and their text, which begins at `text_start` of the file's. A chunk is the text from
  // its start to its end, under the headings of its outline, each a number into the list `headings`.
  yield* sql`CREATE TABLE retrieval_passages (
    index_id integer NOT NULL,
    base integer NOT NULL,
    project_id uuid NOT NULL,
    file_id uuid NOT NULL,
    starts integer[] NOT NULL,
    ends integer[] NOT NULL,
    outlines smallint[] NOT NULL,
    headings jsonb NOT NULL,
    text_start integer NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (index_id, base),
    FOREIGN KEY (project_id, file_id) REFERENCES retrieval_files (project_id, file_id) ON DELETE CASCADE
  )`
  yield* sql`CREATE INDEX retrieval_passages_file ON retrieval_passages (project_id, file_id)`

  // Which chunks hold a term: a number for each, of its position, how often it says the term, and its length; `base` is the
  // position of the first. They refer to nothing, because a check of every row would take longer than all else: positions
  // whose file is gone don't count, and are swept. Rows grow as files come; the room left in each page keeps them where they are.
  yield* sql`CREATE TABLE retrieval_postings (
    index_id integer NOT NULL,
    term text COLLATE "C" NOT NULL,
    base integer NOT NULL,
    postings integer[] NOT NULL,
    PRIMARY KEY (index_id, term, base)
  ) WITH (fillfactor = 80)`
})
