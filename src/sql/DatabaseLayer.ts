import { Layer } from "effect"
import { Database } from "./Database.ts"
import { layerMigrations } from "./Migrations.ts"

/** PostgreSQL with the current schema, embedded or the operator's own. */
export const DatabaseLayer = Layer.provideMerge(layerMigrations, Database.layer)
