import { Schema } from "effect"

/** Another process that is alive owns the embedded server's directory. */
export class DataDirectoryInUse extends Schema.TaggedError<DataDirectoryInUse>()("DataDirectoryInUse", {
  directory: Schema.String
}) {
  override get message(): string {
    return `${this.directory} is in use by another running process: give this one its own data directory, or let both share a PostgreSQL server through DATABASE_URL`
  }
}

/** The embedded server could not be brought up. `message` is for the operator: what failed, where, and what to do. */
export class EmbeddedPostgresFailed extends Schema.TaggedError<EmbeddedPostgresFailed>()(
  "EmbeddedPostgresFailed",
  { message: Schema.String }
) {}
