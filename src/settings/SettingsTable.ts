import { tokensMax } from "../domain/Allowance.ts"
import { toolNames } from "../domain/ModelCall.ts"
import * as PathRule from "./PathRule.ts"
import * as Setting from "./Setting.ts"
import * as TelemetryRules from "./TelemetryRules.ts"

/** What a collector of OpenTelemetry can be sent. */
export const otlpSignals = ["traces", "logs", "metrics"] as const
export type OtlpSignal = (typeof otlpSignals)[number]

/**
 * Every setting, once: the start-up check, `parley config print`, docs/settings.md and .env.example all come from
 * here. A group is the part of Settings that its rows fill.
 */
export const settingsTable = {
  service: {
    dataDir: Setting.withDefault(PathRule.directory, {
      name: "PARLEY_DATA_DIR",
      default: ".data",
      example: "/var/lib/parley",
      description: "Directory of the embedded database and of the first operator's key"
    }),
    logLevel: Setting.withDefault(Setting.oneOf(["debug", "info", "warn", "error"]), {
      name: "PARLEY_LOG_LEVEL",
      default: "info",
      description: "The least severe messages that are logged"
    })
  },
  http: {
    host: Setting.withDefault(Setting.address, {
      name: "HOST",
      default: "127.0.0.1",
      example: "0.0.0.0",
      description: "Address to listen on"
    }),
    port: Setting.withDefault(Setting.wholeNumber(0, 65_535), {
      name: "PORT",
      default: "3000",
      description: "Port to listen on; 0 takes a free one"
    }),
    bodyBytesMax: Setting.withDefault(Setting.wholeNumber(1_024, 67_108_864), {
      name: "PARLEY_BODY_BYTES_MAX",
      default: "4194304",
      description: "Longest JSON body of a request, in bytes"
    }),
    bodiesBytesMax: Setting.withDefault(Setting.wholeNumber(1, Number.MAX_SAFE_INTEGER), {
      name: "PARLEY_BODIES_BYTES_MAX",
      default: "268435456",
      description:
        "Most bytes that the JSON bodies of all requests under way may have together, in each process"
    }),
    userBodyBytesMax: Setting.withDefault(Setting.wholeNumber(1, Number.MAX_SAFE_INTEGER), {
      name: "PARLEY_USER_BODY_BYTES_MAX",
      default: "67108864",
      description: "The same for the requests of one user"
    }),
    userRequestsMax: Setting.withDefault(Setting.wholeNumber(1, 1_000_000), {
      name: "PARLEY_USER_REQUESTS_MAX",
      default: "32",
      description: "Most requests of one user that are answered at once, streams included, in each process"
    }),
    userRequestsPerMinute: Setting.withDefault(Setting.wholeNumber(1, 10_000_000), {
      name: "PARLEY_USER_REQUESTS_PER_MINUTE",
      default: "1200",
      description: "Most requests of one user that are answered in a minute, in each process"
    }),
    userWaitSeconds: Setting.withDefault(Setting.wholeNumber(0, 60), {
      name: "PARLEY_USER_WAIT_SECONDS",
      default: "5",
      description:
        "How long a request or an upload waits where its user has as many as allowed, before it gets 429"
    }),
    requestSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_REQUEST_SECONDS",
      default: "60",
      description: "Longest time in which a whole request must have arrived"
    }),
    headersSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_HEADERS_SECONDS",
      default: "20",
      description:
        "Longest time in which a request's headers must have arrived; at most PARLEY_REQUEST_SECONDS"
    }),
    writeStallSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_WRITE_STALL_SECONDS",
      default: "60",
      description: "How long a client may read nothing of what waits for it, before its connection is closed"
    }),
    shutdownGraceSeconds: Setting.withDefault(Setting.wholeNumber(0, 600), {
      name: "PARLEY_SHUTDOWN_GRACE_SECONDS",
      default: "20",
      description: "How long open streams may go on after SIGTERM"
    }),
    openapiPublic: Setting.withDefault(Setting.trueOrFalse, {
      name: "PARLEY_OPENAPI_PUBLIC",
      default: "false",
      description: "Whether /openapi.json is served without a key"
    })
  },
  stream: {
    beginSeconds: Setting.withDefault(Setting.wholeNumber(1, 300), {
      name: "PARLEY_STREAM_BEGIN_SECONDS",
      default: "15",
      description: "How long a stream waits for the model's first output before it begins without one"
    }),
    keepaliveSeconds: Setting.withDefault(Setting.wholeNumber(1, 300), {
      name: "PARLEY_KEEPALIVE_SECONDS",
      default: "15",
      description: "Silence on an open stream after which a keepalive comment is sent"
    })
  },
  database: {
    url: Setting.secret(Setting.postgresUrl, {
      name: "DATABASE_URL",
      example: "postgres://parley:PASSWORD@127.0.0.1:5432/parley",
      description: "Your own PostgreSQL; without it the embedded one is started in PARLEY_DATA_DIR"
    }),
    connectionsMax: Setting.withDefault(Setting.wholeNumber(1, 1_000), {
      name: "PARLEY_DATABASE_CONNECTIONS_MAX",
      default: "10",
      description: "Most connections to the database that this process opens"
    }),
    connectSeconds: Setting.withDefault(Setting.wholeNumber(1, 300), {
      name: "PARLEY_DATABASE_CONNECT_SECONDS",
      default: "5",
      description: "Longest time for opening a connection to the database, or for waiting for a free one"
    }),
    statementSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_DATABASE_STATEMENT_SECONDS",
      default: "15",
      description: "Longest time of one SQL statement"
    })
  },
  auth: {
    adminKey: Setting.secret(Setting.adminKey, {
      name: "PARLEY_ADMIN_KEY",
      example: "parley_admin_AT_LEAST_32_CHARACTERS",
      description: "The operator's key; without it the first start makes one and keeps it in PARLEY_DATA_DIR"
    }),
    initApiKey: Setting.secret(Setting.apiKey, {
      name: "PARLEY_INIT_API_KEY",
      example: `parley_${"X".repeat(39)}`,
      description:
        "API key that the first start gives the first user, for unattended starts; `parley key generate` prints one"
    }),
    initUserEmail: Setting.withDefault(Setting.email, {
      name: "PARLEY_INIT_USER_EMAIL",
      default: "admin@localhost",
      example: "you@example.com",
      description: "Address of the user that the first start makes"
    }),
    cacheSeconds: Setting.withDefault(Setting.wholeNumber(0, 5), {
      name: "PARLEY_KEY_CACHE_SECONDS",
      default: "5",
      description: "How long a key that was looked up is trusted: a revoked key may work that much longer"
    })
  },
  policy: {
    plansFile: Setting.optional(PathRule.readableFile, {
      name: "PARLEY_PLANS_FILE",
      example: "/etc/parley/plans.json",
      description: "Catalog of the plans that organizations may have; without it no plan bounds anything"
    }),
    license: Setting.secret(Setting.license, {
      name: "PARLEY_LICENSE",
      example: "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ5b3UifQ.U0lHTkFUVVJF",
      description: "Licence of this installation; without it, it is the free edition, which bounds nothing"
    }),
    licensePublicKey: Setting.secret(Setting.ed25519PublicKey, {
      name: "PARLEY_LICENSE_PUBLIC_KEY",
      example: "MCowBQYDK2VwAyEAYOUR+PUBLIC+KEY+YOUR+PUBLIC+KEY+YOUR+PUBLIA=",
      description: "The key by which PARLEY_LICENSE is verified"
    })
  },
  models: {
    file: Setting.optional(PathRule.readableFile, {
      name: "PARLEY_MODELS_FILE",
      example: "/etc/parley/models.json",
      description: "Catalog of providers and models"
    }),
    openaiBaseUrl: Setting.optional(Setting.httpUrl, {
      name: "OPENAI_BASE_URL",
      example: "http://127.0.0.1:8000/v1",
      description: "A server that speaks OpenAI Chat Completions, when there is no catalog"
    }),
    openaiApiKey: Setting.secret(Setting.visibleText(1, 4_096), {
      name: "OPENAI_API_KEY",
      example: "sk-YOUR_KEY",
      description: "The key that the server at OPENAI_BASE_URL wants"
    }),
    openaiModel: Setting.optional(Setting.modelNames, {
      name: "OPENAI_MODEL",
      example: "gpt-oss-20b",
      description:
        "The model to use at OPENAI_BASE_URL, or several by comma, the preferred one first; without it the server is " +
        "asked for its list. It means nothing unless OPENAI_BASE_URL or OPENAI_API_KEY is set"
    }),
    connectSeconds: Setting.withDefault(Setting.wholeNumber(1, 300), {
      name: "PARLEY_MODEL_CONNECT_SECONDS",
      default: "10",
      description: "Longest time for connecting to a model server"
    }),
    firstTokenSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_MODEL_FIRST_TOKEN_SECONDS",
      default: "120",
      description: "Longest wait for a model's first output"
    }),
    idleSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_MODEL_IDLE_SECONDS",
      default: "60",
      description: "Longest silence between two pieces of a model's output"
    }),
    concurrentMax: Setting.withDefault(Setting.wholeNumber(1, 100_000), {
      name: "PARLEY_MODEL_REQUESTS_MAX",
      default: "10000",
      description:
        "Most requests that a process sends to one provider at once, unless the catalog says `concurrentMax`; others " +
        "wait, and users take turns"
    }),
    queueSeconds: Setting.withDefault(Setting.wholeNumber(1, 600), {
      name: "PARLEY_MODEL_QUEUE_SECONDS",
      default: "10",
      description:
        "Longest wait for a turn at a provider that has its most requests, before the next model is tried"
    }),
    retrySeconds: Setting.withDefault(Setting.wholeNumber(0, 600), {
      name: "PARLEY_MODEL_RETRY_SECONDS",
      default: "3",
      description:
        "How long a provider that fails before its first output is asked again, before the next model is tried; 0 never " +
        "asks again"
    }),
    fallbackSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_MODEL_FALLBACK_SECONDS",
      default: "10",
      description:
        "How long a model may be silent before its first output when another one can answer; one that is known to be " +
        "slow gets three times its usual wait. Less than PARLEY_STREAM_BEGIN_SECONDS, for then the model is fixed"
    }),
    balance: Setting.withDefault(Setting.wholeNumber(0, 100), {
      name: "PARLEY_ROUTER_BALANCE",
      default: "50",
      description: "Which model is asked first, from 0, the cheapest that will do, to 100, the best there is"
    })
  },
  usage: {
    dailyTokens: Setting.optional(Setting.wholeNumber(0, tokensMax), {
      name: "PARLEY_DAILY_TOKENS",
      example: "1000000",
      description:
        "Tokens, read and written, that a user may spend in a day (UTC), unless `parley limits` says otherwise; without it there is no limit"
    }),
    monthlyTokens: Setting.optional(Setting.wholeNumber(0, tokensMax), {
      name: "PARLEY_MONTHLY_TOKENS",
      example: "20000000",
      description:
        "Tokens that a user may spend in a month (UTC), unless `parley limits` says otherwise; without it there is no limit"
    }),
    waitSeconds: Setting.withDefault(Setting.wholeNumber(0, 300), {
      name: "PARLEY_TOKEN_WAIT_SECONDS",
      default: "5",
      description:
        "Seconds that a request waits while other requests of its user hold all that is left of a token limit; after them it gets 429"
    })
  },
  conversations: {
    leaseSeconds: Setting.withDefault(Setting.wholeNumber(5, 600), {
      name: "PARLEY_TURN_LEASE_SECONDS",
      default: "30",
      description: "How long a turn of a process that died keeps its conversation locked"
    }),
    turnWaitSeconds: Setting.withDefault(Setting.wholeNumber(0, 3_600), {
      name: "PARLEY_TURN_WAIT_SECONDS",
      default: "120",
      description:
        "Longest wait for an earlier turn of the same conversation; until its own turn a request is sent nothing"
    }),
    retentionDays: Setting.withDefault(Setting.wholeNumber(0, 36_500), {
      name: "PARLEY_CONVERSATION_DAYS",
      default: "30",
      description:
        "Days after its last use when a conversation is deleted with its turns; 0 keeps them for good"
    })
  },
  files: {
    store: Setting.withDefault(Setting.oneOf(["directory", "postgres", "s3"]), {
      name: "PARLEY_FILES_STORE",
      default: "directory",
      description:
        "Where uploaded files are kept: in PARLEY_DATA_DIR, in the database, or in S3-compatible object storage"
    }),
    directoryShared: Setting.withDefault(Setting.trueOrFalse, {
      name: "PARLEY_FILES_DIRECTORY_SHARED",
      default: "false",
      description:
        "Whether PARLEY_DATA_DIR is one and the same directory for all processes of the database, though each sees another identity of it; processes that see the same one need no setting"
    }),
    trashSeconds: Setting.withDefault(Setting.wholeNumber(60, 315_360_000), {
      name: "PARLEY_FILES_TRASH_SECONDS",
      default: "604800",
      description:
        "How long stored bytes that belong to no file of the database stay in the trash before they are removed; 604800 are 7 days"
    }),
    fileBytesMax: Setting.withDefault(Setting.wholeNumber(1, 5_368_709_120), {
      name: "PARLEY_FILE_BYTES_MAX",
      default: "536870912",
      description: "Largest file, in bytes"
    }),
    filesPerUserMax: Setting.withDefault(Setting.wholeNumber(0, 10_000_000), {
      name: "PARLEY_USER_FILES_MAX",
      default: "10000",
      description: "Most files that a user may have"
    }),
    bytesPerUserMax: Setting.withDefault(Setting.wholeNumber(0, 100_000_000_000_000), {
      name: "PARLEY_USER_FILE_BYTES_MAX",
      default: "10737418240",
      description: "Most bytes that a user's files may have together"
    }),
    uploadsPerUserMax: Setting.withDefault(Setting.wholeNumber(1, 1_000), {
      name: "PARLEY_USER_UPLOADS_MAX",
      default: "4",
      description: "Most uploads of a user that a process takes at once"
    }),
    uploadSeconds: Setting.withDefault(Setting.wholeNumber(1, 86_400), {
      name: "PARLEY_UPLOAD_SECONDS",
      default: "3600",
      description: "Longest time in which a whole upload must have arrived"
    }),
    processWaitSeconds: Setting.withDefault(Setting.wholeNumber(0, 300), {
      name: "PARLEY_FILE_WAIT_SECONDS",
      default: "30",
      description: "How long an upload waits for its text to be ready, before that goes on in the background"
    }),
    extractionSeconds: Setting.withDefault(Setting.wholeNumber(1, 3_600), {
      name: "PARLEY_EXTRACTION_SECONDS",
      default: "30",
      description: "Longest time for reading the text of a file"
    }),
    extractionMemoryBytes: Setting.withDefault(Setting.wholeNumber(134_217_728, 68_719_476_736), {
      name: "PARLEY_EXTRACTION_MEMORY_BYTES_MAX",
      default: "536870912",
      description: "Most memory for reading the text of a file, in bytes"
    }),
    textBytesMax: Setting.withDefault(Setting.wholeNumber(1_024, 268_435_456), {
      name: "PARLEY_TEXT_BYTES_MAX",
      default: "10485760",
      description: "Longest text of a file, in bytes; what is longer is cut"
    }),
    extractionsMax: Setting.withDefault(Setting.wholeNumber(1, 64), {
      name: "PARLEY_EXTRACTIONS_MAX",
      default: "2",
      description:
        "Most files whose text a process reads at once; of one user, one fewer where there are several. Users take turns"
    })
  },
  s3: {
    endpoint: Setting.optional(Setting.httpUrl, {
      name: "PARLEY_S3_ENDPOINT",
      example: "https://s3.example.com",
      description: "Object storage for PARLEY_FILES_STORE=s3"
    }),
    region: Setting.withDefault(Setting.visibleText(1, 64), {
      name: "PARLEY_S3_REGION",
      default: "us-east-1",
      description: "Region that requests to the object storage are signed for"
    }),
    bucket: Setting.optional(Setting.bucket, {
      name: "PARLEY_S3_BUCKET",
      example: "parley",
      description: "Bucket that holds the files"
    }),
    prefix: Setting.withDefault(Setting.keyPrefix, {
      name: "PARLEY_S3_PREFIX",
      default: "files/",
      description: "What the keys of all files in the bucket begin with"
    }),
    accessKeyId: Setting.optional(Setting.visibleText(1, 128), {
      name: "PARLEY_S3_ACCESS_KEY_ID",
      example: "AKIAIOSFODNN7EXAMPLE",
      description: "The access key that the object storage wants"
    }),
    secretAccessKey: Setting.secret(Setting.visibleText(1, 256), {
      name: "PARLEY_S3_SECRET_ACCESS_KEY",
      example: "YOUR_SECRET",
      description: "The secret that goes with PARLEY_S3_ACCESS_KEY_ID"
    }),
    retrySeconds: Setting.withDefault(Setting.wholeNumber(0, 600), {
      name: "PARLEY_S3_RETRY_SECONDS",
      default: "30",
      description:
        "How long a request to the object storage is repeated that fails for a reason which may pass, such as a restart"
    })
  },
  tools: {
    enabled: Setting.withDefault(Setting.someOf(toolNames), {
      name: "PARLEY_TOOLS",
      default: toolNames.join(","),
      description: "The tools that models are offered"
    }),
    callSeconds: Setting.withDefault(Setting.wholeNumber(1, 600), {
      name: "PARLEY_TOOL_SECONDS",
      default: "30",
      description: "Longest run of one tool call"
    }),
    searchProvider: Setting.optional(Setting.oneOf(["searxng", "brave", "tavily", "exa"]), {
      name: "PARLEY_SEARCH_PROVIDER",
      example: "searxng",
      description: "What web_search asks; without it the tool is not offered"
    }),
    searchUrl: Setting.optional(Setting.httpUrl, {
      name: "PARLEY_SEARCH_URL",
      example: "https://searx.example.com",
      description: "Where PARLEY_SEARCH_PROVIDER is; searxng needs it, the others have a public address"
    }),
    searchKey: Setting.secret(Setting.visibleText(1, 512), {
      name: "PARLEY_SEARCH_API_KEY",
      example: "YOUR_KEY",
      description: "The key that PARLEY_SEARCH_PROVIDER wants; searxng needs none"
    }),
    searchSeconds: Setting.withDefault(Setting.wholeNumber(1, 120), {
      name: "PARLEY_SEARCH_SECONDS",
      default: "10",
      description: "Longest wait for a search"
    }),
    searchResultsMax: Setting.withDefault(Setting.wholeNumber(1, 20), {
      name: "PARLEY_SEARCH_RESULTS_MAX",
      default: "8",
      description: "Most results of a search"
    }),
    fetchSeconds: Setting.withDefault(Setting.wholeNumber(1, 300), {
      name: "PARLEY_FETCH_SECONDS",
      default: "20",
      description: "Longest time for reading a page of the web, redirects included"
    }),
    fetchBytesMax: Setting.withDefault(Setting.wholeNumber(1_024, 104_857_600), {
      name: "PARLEY_FETCH_BYTES_MAX",
      default: "5242880",
      description: "Most bytes that are read of a page of the web, both as sent and as unpacked"
    }),
    fetchAddresses: Setting.withDefault(Setting.oneOf(["named", "any"]), {
      name: "PARLEY_WEB_FETCH_ADDRESSES",
      default: "named",
      description:
        "Which pages web_fetch reads: named, those whose address the user, a search result or a page that was read has " +
        "named; any, also those that the model makes up, so that text hidden in a page can make it send what it knows elsewhere"
    }),
    webAllowHosts: Setting.withDefault(Setting.hostNames, {
      name: "PARLEY_WEB_ALLOW_HOSTS",
      default: "none",
      example: "example.com,example.org",
      description: "Hosts that alone the tools may reach, with those below them; none: every public host"
    }),
    webDenyHosts: Setting.withDefault(Setting.hostNames, {
      name: "PARLEY_WEB_DENY_HOSTS",
      default: "none",
      example: "example.net",
      description: "Hosts that the tools may not reach, with those below them"
    }),
    egressAllow: Setting.withDefault(Setting.ipAddresses, {
      name: "PARLEY_EGRESS_ALLOW",
      default: "none",
      example: "10.1.2.3",
      description:
        "Inside addresses that the tools may reach all the same; a danger, for every user can read what is there"
    })
  },
  retrieval: {
    embeddingsUrl: Setting.optional(Setting.httpUrl, {
      name: "PARLEY_EMBEDDINGS_URL",
      example: "http://127.0.0.1:8001/v1",
      description:
        "A server that speaks OpenAI Embeddings, for a search in projects that also goes by meaning; without it, by words alone"
    }),
    embeddingsKey: Setting.secret(Setting.visibleText(1, 4_096), {
      name: "PARLEY_EMBEDDINGS_API_KEY",
      example: "sk-YOUR_KEY",
      description: "The key that the server at PARLEY_EMBEDDINGS_URL wants"
    }),
    embeddingsModel: Setting.optional(Setting.visibleText(1, 200), {
      name: "PARLEY_EMBEDDINGS_MODEL",
      example: "text-embedding-3-small",
      description:
        "The model to use at PARLEY_EMBEDDINGS_URL, which needs one; with another one, all passages are embedded again"
    }),
    embeddingsSeconds: Setting.withDefault(Setting.wholeNumber(1, 600), {
      name: "PARLEY_EMBEDDINGS_SECONDS",
      default: "30",
      description: "Longest wait for the embeddings of some passages, in the background"
    })
  },
  observability: {
    accessLog: Setting.withDefault(Setting.trueOrFalse, {
      name: "PARLEY_ACCESS_LOG",
      default: "true",
      description: "Whether every request is logged when it is over, with ids and numbers and never a text"
    }),
    metricsToken: Setting.secret(Setting.visibleText(16, 180), {
      name: "PARLEY_METRICS_TOKEN",
      example: "AT_LEAST_16_CHARACTERS",
      description: "Token that /metrics asks for on the service's own port; without it the path is not there"
    }),
    metricsPort: Setting.optional(Setting.wholeNumber(1, 65_535), {
      name: "PARLEY_METRICS_PORT",
      example: "9464",
      description: "Another port, which serves /metrics without a token and nothing else"
    }),
    metricsHost: Setting.withDefault(Setting.address, {
      name: "PARLEY_METRICS_HOST",
      default: "127.0.0.1",
      example: "0.0.0.0",
      description: "Address at which PARLEY_METRICS_PORT listens"
    }),
    otlpEndpoint: Setting.optional(Setting.httpUrl, {
      name: "OTEL_EXPORTER_OTLP_ENDPOINT",
      example: "http://127.0.0.1:4318",
      description: "A collector that takes OTLP over HTTP as JSON; without it nothing is exported"
    }),
    otlpHeaders: Setting.secret(TelemetryRules.headerList, {
      name: "OTEL_EXPORTER_OTLP_HEADERS",
      example: "authorization=Bearer%20YOUR_TOKEN",
      description: "Headers that the collector wants"
    }),
    otlpSignals: Setting.withDefault(Setting.someOf(otlpSignals), {
      name: "PARLEY_OTLP_SIGNALS",
      default: otlpSignals.join(","),
      description: "What the collector is sent"
    }),
    traceShare: Setting.withDefault(TelemetryRules.share, {
      name: "PARLEY_TRACE_SAMPLE",
      default: "100%",
      description: "Share of the requests that are traced"
    }),
    serviceName: Setting.withDefault(Setting.visibleText(1, 100), {
      name: "OTEL_SERVICE_NAME",
      default: "parley",
      description: "How the collector is told what this service is called"
    }),
    resourceAttributes: Setting.optional(TelemetryRules.nameValueList, {
      name: "OTEL_RESOURCE_ATTRIBUTES",
      example: "deployment.environment.name=production",
      description: "What else the collector is told about this process"
    })
  }
}
