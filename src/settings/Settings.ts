import type { Redacted } from "effect"
import type { OtlpSignal } from "./SettingsTable.ts"
import type { ToolName } from "../domain/ModelCall.ts"

/** Every setting of the service. Lengths of time are in seconds, sizes in bytes; paths are absolute. */
export interface Settings {
  readonly dataDir: string
  readonly logLevel: "debug" | "info" | "warn" | "error"
  readonly http: {
    readonly host: string
    readonly port: number
    readonly bodyBytesMax: number
    /** Of all requests under way together. */
    readonly bodiesBytesMax: number
    readonly userBodyBytesMax: number
    readonly userRequestsMax: number
    readonly userRequestsPerMinute: number
    readonly userWaitSeconds: number
    readonly requestSeconds: number
    readonly headersSeconds: number
    readonly writeStallSeconds: number
    readonly shutdownGraceSeconds: number
    readonly openapiPublic: boolean
  }
  readonly stream: { readonly beginSeconds: number; readonly keepaliveSeconds: number }
  readonly database: {
    /** Null: the embedded server. */
    readonly url: Redacted.Redacted | null
    readonly connectionsMax: number
    readonly connectSeconds: number
    readonly statementSeconds: number
  }
  readonly auth: {
    readonly adminKey: Redacted.Redacted | null
    readonly initApiKey: Redacted.Redacted | null
    readonly initUserEmail: string
    readonly cacheSeconds: number
  }
  readonly policy: {
    /** Null: no plan bounds anything. */
    readonly plansFile: string | null
    /** Null: the free edition, which bounds nothing. */
    readonly license: Redacted.Redacted | null
    /** The base64 of an SPKI. */
    readonly licensePublicKey: Redacted.Redacted | null
  }
  readonly models: {
    readonly file: string | null
    readonly openaiBaseUrl: string | null
    readonly openaiApiKey: Redacted.Redacted | null
    readonly openaiModel: string | null
    readonly connectSeconds: number
    readonly firstTokenSeconds: number
    readonly idleSeconds: number
    /** Requests to one provider at once, unless the catalog has a number for it. */
    readonly concurrentMax: number
    /** How long a request waits for its turn there. */
    readonly queueSeconds: number
    readonly retrySeconds: number
    /** How long a model may be silent before its first output where another one can answer. */
    readonly fallbackSeconds: number
    /** 0: the cheapest model that will do; 100: the best there is. */
    readonly balance: number
  }
  /** Tokens per user, unless the user has limits of their own; null: no limit. */
  readonly usage: {
    readonly dailyTokens: number | null
    readonly monthlyTokens: number | null
    /** How long a request waits for tokens that running requests hold. */
    readonly waitSeconds: number
  }
  readonly conversations: {
    readonly leaseSeconds: number
    readonly turnWaitSeconds: number
    /** 0 keeps conversations for good. */
    readonly retentionDays: number
  }
  readonly files: {
    /** Where the bytes are kept. */
    readonly store: "directory" | "postgres" | "s3"
    /** Whether every process that shares the database sees the same directory. */
    readonly directoryShared: boolean
    /** How long bytes that belong to no file stay in the trash. */
    readonly trashSeconds: number
    readonly fileBytesMax: number
    readonly filesPerUserMax: number
    readonly bytesPerUserMax: number
    /** At once, in one process. */
    readonly uploadsPerUserMax: number
    /** In which a whole upload must have arrived. */
    readonly uploadSeconds: number
    /** How long an upload waits for its text. */
    readonly processWaitSeconds: number
    readonly extractionSeconds: number
    readonly extractionMemoryBytes: number
    readonly textBytesMax: number
    /** At once, in one process. */
    readonly extractionsMax: number
    /** Null unless `store` is "s3". */
    readonly s3: {
      readonly endpoint: string
      readonly region: string
      readonly bucket: string
      /** In front of every key; it begins with no slash. */
      readonly prefix: string
      readonly accessKeyId: string
      readonly secretAccessKey: Redacted.Redacted
      /** How long a request that fails is repeated. */
      readonly retrySeconds: number
    } | null
  }
  readonly tools: {
    /** The tools of this installation. */
    readonly enabled: ReadonlyArray<ToolName>
    /** For one call of any tool. */
    readonly callSeconds: number
    /** Null: the web can't be searched. */
    readonly searchProvider: "searxng" | "brave" | "tavily" | "exa" | null
    /** Where the provider is; null for its public address. */
    readonly searchUrl: string | null
    readonly searchKey: Redacted.Redacted | null
    readonly searchSeconds: number
    readonly searchResultsMax: number
    readonly fetchSeconds: number
    /** Whether pages are read only where somebody else than the model has named their address. */
    readonly fetchAddresses: "named" | "any"
    /** Of one answer, as it comes and as it is once unpacked. */
    readonly fetchBytesMax: number
    /** Hosts that alone may be reached, each with the hosts below it; empty: all. */
    readonly webAllowHosts: ReadonlyArray<string>
    readonly webDenyHosts: ReadonlyArray<string>
    /** Inside addresses that may be reached all the same. */
    readonly egressAllow: ReadonlyArray<string>
  }
  readonly retrieval: {
    /** Null: the search goes by words alone. */
    readonly embeddingsUrl: string | null
    readonly embeddingsKey: Redacted.Redacted | null
    /** Never null where there is a URL. */
    readonly embeddingsModel: string | null
    /** For one request in the background. */
    readonly embeddingsSeconds: number
  }
  readonly observability: {
    readonly accessLog: boolean
    /** Null: no /metrics on the service's own port. */
    readonly metricsToken: Redacted.Redacted | null
    /** Null: no port for metrics alone. */
    readonly metricsPort: number | null
    readonly metricsHost: string
    /** Null: nothing is exported. */
    readonly otlpEndpoint: string | null
    /** As `name=value,…`, the values percent-encoded. */
    readonly otlpHeaders: Redacted.Redacted | null
    readonly otlpSignals: ReadonlyArray<OtlpSignal>
    /** From 0 to 1, of all requests. */
    readonly traceShare: number
    readonly serviceName: string
    /** As `name=value,…`, names and values percent-encoded. */
    readonly resourceAttributes: string | null
  }
}
