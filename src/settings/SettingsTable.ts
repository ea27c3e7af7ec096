import { tokensMax } from "../domain/Allowance.ts"
import { toolNames } from "../domain/ModelCall.ts"
import * as Oidc from "./OidcCodec.ts"
import { optional, perProcess, secret, setting, withDetails } from "./Setting.ts"
import * as Text from "./TextCodec.ts"

/** The rows of SettingsTable for signing in by an OpenID provider. */
// prettier-ignore
const oidcSettings = {
  issuer: optional("PARLEY_OIDC_ISSUER", Oidc.issuer, "https://login.example.com/realms/main",
    "OpenID provider to sign in with; without it, people sign in by password only"),
  clientId: optional("PARLEY_OIDC_CLIENT_ID", Text.visibleText(1, 500), "parley",
    "This service's id at PARLEY_OIDC_ISSUER"),
  clientSecret: secret("PARLEY_OIDC_CLIENT_SECRET", Text.visibleText(1, 1_000), "YOUR_SECRET",
    "Secret of PARLEY_OIDC_CLIENT_ID"),
  name: setting("PARLEY_OIDC_NAME", Oidc.shownName, "single sign-on",
    "Name of the provider on the sign-in page", "Example Accounts"),
  scopes: setting("PARLEY_OIDC_SCOPES", Oidc.scopes, "openid,email",
    "What is asked for at sign-in; some providers tell groups only for a scope of their own", "openid,email,groups"),
  allowedDomains: setting("PARLEY_OIDC_ALLOWED_DOMAINS", Text.hostNames, "none",
    "The only domains whose e-mail addresses may sign in through the provider, without their subdomains; none: every " +
    "address that the provider has verified", "example.com"),
  groups: withDetails(
    optional("PARLEY_OIDC_GROUPS", Oidc.groupRules, "engineering=Example,parley-admins=Example:admin",
      "The organization of those who are in a group at the provider; the first entry that fits counts. New users get it at " +
      "their first sign-in. As soon as one entry names a role, every sign-in sets the role of its user, except of owners"),
    Oidc.groupRulesProblems),
  groupsClaim: setting("PARLEY_OIDC_GROUPS_CLAIM", Text.visibleText(1, 200), "groups",
    "The claim in which the provider tells the groups of a user"),
  organization: optional("PARLEY_OIDC_ORGANIZATION", Oidc.shownName, "Example",
    "The organization of new users whom PARLEY_OIDC_GROUPS gives none; without it they are refused"),
  requestSeconds: setting("PARLEY_OIDC_SECONDS", Text.wholeNumber(1, 60), "10",
    "Timeout of one request to the provider")
}

/** The signals that can be sent to an OpenTelemetry collector. */
export const otlpSignals = ["traces", "logs", "metrics"] as const

/**
 * Every setting, once: the type Settings, the start-up check, `parley config print`, docs/settings.md and
 * .env.example all come from here. A row is name, codec, default (of `optional` and `secret`: example) and
 * description.
 */
// prettier-ignore
export const settingsTable = {
  service: {
    dataDir: perProcess(setting("PARLEY_DATA_DIR", Text.directory, ".data",
      "Directory of the embedded database, of uploaded files and of the operator's first key", "/var/lib/parley")),
    logLevel: setting("PARLEY_LOG_LEVEL", Text.oneOf(["debug", "info", "warn", "error"]), "info",
      "Lowest level of messages that are logged"),
    logFormat: setting("PARLEY_LOG_FORMAT", Text.oneOf(["auto", "json", "pretty"]), "auto",
      "How the log is written: json, a document in each line; pretty, one short line for each request; auto, pretty on a " +
      "terminal and json elsewhere")
  },
  http: {
    host: perProcess(setting("HOST", Text.address, "127.0.0.1", "Address to listen on", "0.0.0.0")),
    port: perProcess(setting("PORT", Text.wholeNumber(0, 65_535), "3000", "Port to listen on; 0 picks a free one")),
    adminPort: perProcess(optional("PARLEY_ADMIN_PORT", Text.wholeNumber(1, 65_535), "3001",
      "A port of its own for the operator's interface, /admin, which is then not on PORT; the web application stays there")),
    adminHost: perProcess(setting("PARLEY_ADMIN_HOST", Text.address, "127.0.0.1",
      "Address at which PARLEY_ADMIN_PORT listens", "10.0.0.5")),
    bodyBytesMax: setting("PARLEY_BODY_BYTES_MAX", Text.wholeNumber(1_024, 67_108_864), "4194304",
      "Largest JSON body of a request, in bytes"),
    mediaBodyBytesMax: setting("PARLEY_MEDIA_BODY_BYTES_MAX", Text.wholeNumber(1_024, 67_108_864), "33554432",
      "Largest JSON body or message of /openai/v1, with its images and documents in base64, in bytes; at least PARLEY_BODY_BYTES_MAX"),
    bodiesBytesMax: setting("PARLEY_BODIES_BYTES_MAX", Text.wholeNumber(1, Number.MAX_SAFE_INTEGER), "268435456",
      "Most bytes in the JSON bodies of all concurrent requests together, per process"),
    userBodyBytesMax: setting("PARLEY_USER_BODY_BYTES_MAX", Text.wholeNumber(1, Number.MAX_SAFE_INTEGER), "67108864",
      "Most bytes in the JSON bodies of one user's concurrent requests together, per process"),
    userRequestsMax: setting("PARLEY_USER_REQUESTS_MAX", Text.wholeNumber(1, 1_000_000), "32",
      "Most concurrent requests of one user, streams included, per process"),
    userRequestsPerMinute: setting("PARLEY_USER_REQUESTS_PER_MINUTE", Text.wholeNumber(1, 10_000_000), "1200",
      "Most requests of one user in a minute, per process"),
    userWaitSeconds: setting("PARLEY_USER_WAIT_SECONDS", Text.wholeNumber(0, 60), "5",
      "How long a request or an upload over a limit of its user waits before it gets 429"),
    requestSeconds: setting("PARLEY_REQUEST_SECONDS", Text.wholeNumber(1, 3_600), "60",
      "Time in which a whole request must arrive"),
    headersSeconds: setting("PARLEY_HEADERS_SECONDS", Text.wholeNumber(1, 3_600), "20",
      "Time in which a request's headers must arrive; at most PARLEY_REQUEST_SECONDS"),
    writeStallSeconds: setting("PARLEY_WRITE_STALL_SECONDS", Text.wholeNumber(1, 3_600), "60",
      "How long a client may read nothing of a pending response before its connection is closed"),
    drainSeconds: optional("PARLEY_DRAIN_SECONDS", Text.wholeNumber(0, 300), "5",
      "How long requests are still accepted after SIGTERM while /readyz reports 503, so that reverse proxies choose another " +
      "process; without it 5 where PARLEY_TRUSTED_PROXIES names one, and otherwise 0"),
    shutdownGraceSeconds: setting("PARLEY_SHUTDOWN_GRACE_SECONDS", Text.wholeNumber(0, 600), "20",
      "How long open streams may continue after SIGTERM and PARLEY_DRAIN_SECONDS"),
    openapiPublic: setting("PARLEY_OPENAPI_PUBLIC", Text.trueOrFalse, "false",
      "Whether /openapi.json is served without a key"),
    corsOrigins: setting("PARLEY_CORS_ORIGINS", Text.origins, "none",
      "Origins of web pages that may use /v1, /openai/v1 and /anthropic/v1 from a browser, with a key", "https://app.example.com")
  },
  stream: {
    beginSeconds: setting("PARLEY_STREAM_BEGIN_SECONDS", Text.wholeNumber(1, 300), "15",
      "How long a stream waits for the model's first output before it begins without it"),
    keepaliveSeconds: setting("PARLEY_KEEPALIVE_SECONDS", Text.wholeNumber(1, 300), "15",
      "Silence on an open stream after which a keepalive comment is sent")
  },
  database: {
    url: secret("DATABASE_URL", Text.postgresUrl, "postgres://parley:PASSWORD@127.0.0.1:5432/parley",
      "Your own PostgreSQL; without it the embedded one runs in PARLEY_DATA_DIR"),
    connectionsMax: setting("PARLEY_DATABASE_CONNECTIONS_MAX", Text.wholeNumber(1, 1_000), "10",
      "Most connections to the database, per process"),
    connectSeconds: setting("PARLEY_DATABASE_CONNECT_SECONDS", Text.wholeNumber(1, 300), "5",
      "Timeout for opening a connection to the database, and for waiting until one is free"),
    statementSeconds: setting("PARLEY_DATABASE_STATEMENT_SECONDS", Text.wholeNumber(1, 3_600), "15",
      "Timeout of one SQL statement")
  },
  auth: {
    adminKey: secret("PARLEY_ADMIN_KEY", Text.adminKey, "parley_admin_AT_LEAST_32_CHARACTERS",
      "The operator's key; without it the first start creates one and keeps it in PARLEY_DATA_DIR"),
    initApiKey: secret("PARLEY_INIT_API_KEY", Text.apiKey, `parley_${"X".repeat(39)}`,
      "API key that the first start gives to the first user, for unattended starts; `parley key generate` prints one"),
    initUserEmail: setting("PARLEY_INIT_USER_EMAIL", Text.email, "admin@localhost",
      "E-mail address of the user that the first start creates", "you@example.com"),
    cacheSeconds: setting("PARLEY_KEY_CACHE_SECONDS", Text.wholeNumber(0, 5), "5",
      "How long a valid key is cached: a revoked key may work that much longer")
  },
  console: {
    publicUrl: optional("PARLEY_PUBLIC_URL", Text.httpUrl, "https://parley.example.com",
      "Where browsers reach the web application; without it http://localhost and the port. With a path, the reverse proxy " +
      "must strip it"),
    trustedProxies: setting("PARLEY_TRUSTED_PROXIES", Text.networks, "none",
      "Reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed", "127.0.0.1,10.0.0.0/8"),
    sessionIdleSeconds: setting("PARLEY_SESSION_IDLE_SECONDS", Text.wholeNumber(300, 31_536_000), "604800",
      "How long a session of the web application lasts without a request; 604800 are 7 days"),
    sessionSeconds: setting("PARLEY_SESSION_SECONDS", Text.wholeNumber(300, 31_536_000), "2592000",
      "How long a session of the web application lasts at most; 2592000 are 30 days")
  },
  oidc: oidcSettings,
  policy: {
    plansFile: optional("PARLEY_PLANS_FILE", Text.readableFile, "/etc/parley/plans.json",
      "Catalog of the plans of organizations; without it no plan limits anything"),
    license: secret("PARLEY_LICENSE", Text.license, "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ5b3UifQ.U0lHTkFUVVJF",
      "License of this installation; without it, this is the free edition, which has no limits"),
    licensePublicKey: secret("PARLEY_LICENSE_PUBLIC_KEY", Text.ed25519PublicKey, "MCowBQYDK2VwAyEAYOUR+PUBLIC+KEY+YOUR+PUBLIC+KEY+YOUR+PUBLIA=",
      "The public key that verifies PARLEY_LICENSE")
  },
  models: {
    file: optional("PARLEY_MODELS_FILE", Text.readableFile, "/etc/parley/models.json", "Catalog of providers and models"),
    openaiBaseUrl: optional("OPENAI_BASE_URL", Text.httpUrl, "http://127.0.0.1:8000/v1",
      "A server that speaks OpenAI Chat Completions, for use without a catalog; OpenAI itself is asked by Responses"),
    openaiApiKey: secret("OPENAI_API_KEY", Text.visibleText(1, 4_096), "sk-YOUR_KEY",
      "API key of the server at OPENAI_BASE_URL"),
    openaiModel: optional("OPENAI_MODEL", Text.modelNames, "gpt-oss-20b",
      "Model to use at OPENAI_BASE_URL, or several by comma, the preferred one first; without it the server is asked for " +
      "its list. It has no effect unless OPENAI_BASE_URL or OPENAI_API_KEY is set"),
    connectSeconds: setting("PARLEY_MODEL_CONNECT_SECONDS", Text.wholeNumber(1, 300), "10",
      "Timeout for connecting to a model server"),
    firstTokenSeconds: setting("PARLEY_MODEL_FIRST_TOKEN_SECONDS", Text.wholeNumber(1, 3_600), "120",
      "Timeout for a model's first output"),
    idleSeconds: setting("PARLEY_MODEL_IDLE_SECONDS", Text.wholeNumber(1, 3_600), "60",
      "Timeout between two pieces of a model's output"),
    concurrentMax: setting("PARLEY_MODEL_REQUESTS_MAX", Text.wholeNumber(1, 100_000), "10000",
      "Most concurrent requests to one provider, per process, unless the catalog has `concurrentMax`; others wait in turn"),
    queueSeconds: setting("PARLEY_MODEL_QUEUE_SECONDS", Text.wholeNumber(1, 600), "10",
      "How long a request waits for a provider that has its most requests, before the next model is tried"),
    retrySeconds: setting("PARLEY_MODEL_RETRY_SECONDS", Text.wholeNumber(0, 600), "3",
      "How long a provider that fails before its first output is retried before the next model is tried; 0 never retries"),
    fallbackSeconds: setting("PARLEY_MODEL_FALLBACK_SECONDS", Text.wholeNumber(1, 3_600), "10",
      "Timeout for a model's first output when another model can answer; one that is known to be slow gets three times " +
      "its usual time. It should be below PARLEY_STREAM_BEGIN_SECONDS, after which the model can't change"),
    balance: setting("PARLEY_ROUTER_BALANCE", Text.wholeNumber(0, 100), "50",
      "Which model is tried first, from 0, the cheapest that is eligible, to 100, the best one"),
    reasoning: setting("PARLEY_REASONING", Text.oneOf(["keep", "turn", "off"]), "keep",
      "What becomes of what models think: `keep` stores it with the turn, so that it goes back to the same model later; `turn` " +
      "forgets it when the answer is complete; `off` doesn't show it either"),
    reasoningOnV1: setting("PARLEY_V1_REASONING", Text.oneOf(["off", "shown"]), "off",
      "Whether /v1 shows what models think: `shown` has items of the type `reasoning` in the output, which the interface specification doesn't " +
      "have; /openai/v1 shows it in any case")
  },
  usage: {
    dailyTokens: optional("PARLEY_DAILY_TOKENS", Text.wholeNumber(0, tokensMax), "1000000",
      "Input and output tokens of a user per day (UTC), unless `parley limits` sets another limit; without it, no limit"),
    monthlyTokens: optional("PARLEY_MONTHLY_TOKENS", Text.wholeNumber(0, tokensMax), "20000000",
      "Input and output tokens of a user per month (UTC), unless `parley limits` sets another limit; without it, no limit"),
    waitSeconds: setting("PARLEY_TOKEN_WAIT_SECONDS", Text.wholeNumber(0, 300), "5",
      "How long a request waits while its user's other requests reserve the rest of a token limit, before it gets 429")
  },
  conversations: {
    leaseSeconds: setting("PARLEY_TURN_LEASE_SECONDS", Text.wholeNumber(5, 600), "30",
      "How long a turn of a process that crashed keeps its conversation locked"),
    turnWaitSeconds: setting("PARLEY_TURN_WAIT_SECONDS", Text.wholeNumber(0, 3_600), "120",
      "How long a request waits for an earlier turn of the same conversation; nothing is sent meanwhile"),
    retentionDays: setting("PARLEY_CONVERSATION_DAYS", Text.wholeNumber(0, 36_500), "30",
      "Days after its last use when a hidden conversation, which a request without one created, is deleted with its turns; 0 keeps all of them")
  },
  files: {
    store: setting("PARLEY_FILES_STORE", Text.oneOf(["directory", "postgres", "s3"]), "directory",
      "Where uploaded files are kept: in PARLEY_DATA_DIR, in the database, or in S3-compatible object storage"),
    moveTo: optional("PARLEY_FILES_MOVE_TO", Text.oneOf(["directory", "postgres", "s3"]), "s3",
      "The store that `parley file move` moves the files to; the service itself doesn't use it (docs/upgrading.md)"),
    directoryShared: setting("PARLEY_FILES_DIRECTORY_SHARED", Text.trueOrFalse, "false",
      "Whether PARLEY_DATA_DIR is one shared directory of all processes of the database although it seems different to " +
      "them; where it seems the same, this isn't needed"),
    trashSeconds: setting("PARLEY_FILES_TRASH_SECONDS", Text.wholeNumber(60, 315_360_000), "604800",
      "How long stored bytes that belong to no file in the database stay in the trash; 604800 are 7 days"),
    fileBytesMax: setting("PARLEY_FILE_BYTES_MAX", Text.wholeNumber(1, 5_368_709_120), "536870912",
      "Largest file, in bytes"),
    filesPerUserMax: setting("PARLEY_USER_FILES_MAX", Text.wholeNumber(0, 10_000_000), "10000",
      "Most files of one user"),
    bytesPerUserMax: setting("PARLEY_USER_FILE_BYTES_MAX", Text.wholeNumber(0, 100_000_000_000_000), "10737418240",
      "Most bytes in all files of one user"),
    uploadsPerUserMax: setting("PARLEY_USER_UPLOADS_MAX", Text.wholeNumber(1, 1_000), "4",
      "Most concurrent uploads of one user, per process"),
    uploadSeconds: setting("PARLEY_UPLOAD_SECONDS", Text.wholeNumber(1, 86_400), "3600",
      "Time in which a whole upload must arrive"),
    processWaitSeconds: setting("PARLEY_FILE_WAIT_SECONDS", Text.wholeNumber(0, 300), "30",
      "How long an upload waits for its text, which is then extracted in the background"),
    extractionSeconds: setting("PARLEY_EXTRACTION_SECONDS", Text.wholeNumber(1, 3_600), "30",
      "Timeout for extracting the text of a file"),
    extractionMemoryBytes: setting("PARLEY_EXTRACTION_MEMORY_BYTES_MAX", Text.wholeNumber(134_217_728, 68_719_476_736), "536870912",
      "Most memory for extracting the text of a file, in bytes"),
    textBytesMax: setting("PARLEY_TEXT_BYTES_MAX", Text.wholeNumber(1_024, 268_435_456), "10485760",
      "Longest text of a file, in bytes; the rest is cut off"),
    extractionsMax: setting("PARLEY_EXTRACTIONS_MAX", Text.wholeNumber(1, 64), "2",
      "Most files whose text is extracted at once, per process; users take turns, and one user gets at most one less")
  },
  s3: {
    endpoint: optional("PARLEY_S3_ENDPOINT", Text.httpUrl, "https://s3.example.com",
      "Object storage for PARLEY_FILES_STORE=s3"),
    region: setting("PARLEY_S3_REGION", Text.visibleText(1, 64), "us-east-1",
      "Region that requests to the object storage are signed with"),
    bucket: optional("PARLEY_S3_BUCKET", Text.bucket, "parley", "Bucket that holds the files"),
    prefix: setting("PARLEY_S3_PREFIX", Text.keyPrefix, "files/", "Prefix of the keys of all files in the bucket"),
    accessKeyId: optional("PARLEY_S3_ACCESS_KEY_ID", Text.visibleText(1, 128), "AKIAIOSFODNN7EXAMPLE",
      "Access key of the object storage"),
    secretAccessKey: secret("PARLEY_S3_SECRET_ACCESS_KEY", Text.visibleText(1, 256), "YOUR_SECRET",
      "Secret of PARLEY_S3_ACCESS_KEY_ID"),
    retrySeconds: setting("PARLEY_S3_RETRY_SECONDS", Text.wholeNumber(0, 600), "30",
      "How long a request to the object storage is retried that fails for a temporary reason, such as a restart")
  },
  backup: {
    everyHours: optional("PARLEY_BACKUP_EVERY_HOURS", Text.wholeNumber(0, 8_760), "24",
      "Hours between two scheduled backups; 0 makes none. Without it, 24 with the embedded database and none with DATABASE_URL"),
    dir: optional("PARLEY_BACKUP_DIR", Text.directory, "/mnt/backups/parley",
      "Directory of the scheduled backups, best on another disk; without it `backups` in PARLEY_DATA_DIR"),
    keep: setting("PARLEY_BACKUP_KEEP", Text.wholeNumber(1, 10_000), "7",
      "How many scheduled backups are kept; older ones are removed once a newer one is verified"),
    passphrase: secret("PARLEY_BACKUP_PASSPHRASE", Text.passphrase, "AT_LEAST_12_CHARACTERS",
      "Encrypts backups, and reads them; without it and PARLEY_BACKUP_RECIPIENT, backups are not encrypted"),
    recipients: optional("PARLEY_BACKUP_RECIPIENT", Text.ageRecipients, `age1${"q".repeat(58)}`,
      "Public keys of age, by comma, that backups are encrypted for, in place of a passphrase"),
    identity: secret("PARLEY_BACKUP_IDENTITY", Text.ageIdentity, `AGE-SECRET-KEY-1${"Q".repeat(58)}`,
      "The private key of a recipient, to verify and restore what was encrypted for it; the service itself does not need it")
  },
  tools: {
    enabled: setting("PARLEY_TOOLS", Text.someOf(toolNames), toolNames.join(","), "The tools that models are offered"),
    callSeconds: setting("PARLEY_TOOL_SECONDS", Text.wholeNumber(1, 600), "30", "Timeout of one tool call"),
    searchProvider: optional("PARLEY_SEARCH_PROVIDER", Text.oneOf(["searxng", "brave", "tavily", "exa"]), "searxng",
      "Service behind web_search; without it the tool is not offered"),
    searchUrl: optional("PARLEY_SEARCH_URL", Text.httpUrl, "https://searx.example.com",
      "URL of PARLEY_SEARCH_PROVIDER; searxng needs it, the others have a public address"),
    searchKey: secret("PARLEY_SEARCH_API_KEY", Text.visibleText(1, 512), "YOUR_KEY",
      "API key of PARLEY_SEARCH_PROVIDER; searxng needs none"),
    searchSeconds: setting("PARLEY_SEARCH_SECONDS", Text.wholeNumber(1, 120), "10", "Timeout of a search"),
    searchResultsMax: setting("PARLEY_SEARCH_RESULTS_MAX", Text.wholeNumber(1, 20), "8", "Most results of a search"),
    fetchSeconds: setting("PARLEY_FETCH_SECONDS", Text.wholeNumber(1, 300), "20",
      "Timeout for fetching a web page, redirects included"),
    fetchBytesMax: setting("PARLEY_FETCH_BYTES_MAX", Text.wholeNumber(1_024, 104_857_600), "5242880",
      "Most bytes that are read of a web page, both as sent and decompressed"),
    fetchAddresses: setting("PARLEY_WEB_FETCH_ADDRESSES", Text.oneOf(["named", "any"]), "named",
      "Which pages web_fetch reads. named: those whose address stands in what the user wrote, in a search result or in a " +
      "page that was read. any: also addresses that the model composes, so that text hidden in a page can make it send " +
      "data elsewhere"),
    webAllowHosts: setting("PARLEY_WEB_ALLOW_HOSTS", Text.hostNames, "none",
      "The only hosts that the tools may reach, with their subdomains; none: every public host", "example.com,example.org"),
    webDenyHosts: setting("PARLEY_WEB_DENY_HOSTS", Text.hostNames, "none",
      "Hosts that the tools may not reach, with their subdomains", "example.net"),
    egressAllow: setting("PARLEY_EGRESS_ALLOW", Text.ipAddresses, "none",
      "Private addresses that the tools may reach nevertheless; dangerous, since every user can read what is there", "10.1.2.3")
  },
  projects: {
    creators: setting("PARLEY_PROJECT_CREATORS", Text.oneOf(["users", "administrators"]), "users",
      "Who may create projects under /v1 and in the web application, if the plan permits it: all users, or administrators only", "administrators"),
    ownedMax: setting("PARLEY_USER_PROJECTS_MAX", Text.wholeNumber(1, 1_000_000), "100",
      "Most projects that one user may own when creating another")
  },
  retrieval: {
    passagesCharactersMax: setting("PARLEY_PASSAGES_CHARACTERS_MAX", Text.wholeNumber(100, 200_000), "8000",
      "Most characters of a project's files in one prompt; a project that is no longer is given as a whole"),
    embeddingsUrl: optional("PARLEY_EMBEDDINGS_URL", Text.httpUrl, "http://127.0.0.1:8001/v1",
      "A server that speaks OpenAI Embeddings, to search projects by meaning too; without it, by words alone"),
    embeddingsKey: secret("PARLEY_EMBEDDINGS_API_KEY", Text.visibleText(1, 4_096), "sk-YOUR_KEY",
      "API key of the server at PARLEY_EMBEDDINGS_URL"),
    embeddingsModel: optional("PARLEY_EMBEDDINGS_MODEL", Text.visibleText(1, 200), "text-embedding-3-small",
      "Model to use at PARLEY_EMBEDDINGS_URL, which needs one; after a change all passages are embedded again"),
    embeddingsWeight: setting("PARLEY_EMBEDDINGS_WEIGHT", Text.weight, "0.5",
      "How much a search counts meaning beside words, which count 1; more for a good model"),
    embeddingsQueryPrefix: optional("PARLEY_EMBEDDINGS_QUERY_PREFIX", Text.line, "query:",
      "Put before each question that is embedded, with a space behind it, as some models want it"),
    embeddingsPassagePrefix: optional("PARLEY_EMBEDDINGS_PASSAGE_PREFIX", Text.line, "passage:",
      "Put before each passage that is embedded, with a space behind it; after a change name the model differently, so that all are embedded again"),
    embeddingsSeconds: setting("PARLEY_EMBEDDINGS_SECONDS", Text.wholeNumber(1, 600), "30",
      "Timeout of one request for embeddings, in the background")
  },
  observability: {
    accessLog: setting("PARLEY_ACCESS_LOG", Text.trueOrFalse, "true",
      "Whether every request is logged when it ends, with ids and numbers and without any text"),
    metricsToken: secret("PARLEY_METRICS_TOKEN", Text.visibleText(16, 180), "AT_LEAST_16_CHARACTERS",
      "Bearer token for /metrics on the service's own port; without it the path does not exist"),
    metricsPort: perProcess(optional("PARLEY_METRICS_PORT", Text.wholeNumber(1, 65_535), "9464",
      "A separate port that serves only /metrics, without a token")),
    metricsHost: perProcess(setting("PARLEY_METRICS_HOST", Text.address, "127.0.0.1",
      "Address at which PARLEY_METRICS_PORT listens", "0.0.0.0")),
    otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", Text.httpUrl, "http://127.0.0.1:4318",
      "A collector that accepts OTLP over HTTP as JSON; without it nothing is exported"),
    otlpHeaders: secret("OTEL_EXPORTER_OTLP_HEADERS", Text.headerList, "authorization=Bearer%20YOUR_TOKEN",
      "Headers of requests to the collector"),
    otlpSignals: setting("PARLEY_OTLP_SIGNALS", Text.someOf(otlpSignals), otlpSignals.join(","),
      "What is exported to the collector"),
    traceShare: setting("PARLEY_TRACE_SAMPLE", Text.share, "100%", "Share of the requests that are traced"),
    serviceName: setting("OTEL_SERVICE_NAME", Text.visibleText(1, 100), "parley",
      "Name of this service for the collector"),
    resourceAttributes: perProcess(optional("OTEL_RESOURCE_ATTRIBUTES", Text.nameValueList, "deployment.environment.name=production",
      "More attributes of this process for the collector"))
  }}
