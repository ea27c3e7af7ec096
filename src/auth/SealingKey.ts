import { Context, type Redacted } from "effect"

/**
 * 32 secret bytes of the installation, which seal values that clients keep for the service. The bytes are the
 * same in all processes and after a restart.
 */
export class SealingKey extends Context.Service<SealingKey, Redacted.Redacted<Uint8Array>>()(
  "parley/auth/SealingKey"
) {}
