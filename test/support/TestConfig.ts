import { tmpdir } from "node:os"
import { join } from "node:path"
import { toolNames } from "../../src/domain/ModelCall.ts"
import type { Settings } from "../../src/settings/AppConfig.ts"
import { otlpSignals } from "../../src/settings/SettingsTable.ts"

/** The settings that a test changes: any field, at any depth. */
export type SettingsOverrides = {
  readonly [Field in keyof Settings]?: Settings[Field] extends string
    ? Settings[Field]
    : Partial<Settings[Field]>
}

/**
 * Settings for a test: the defaults, except that the port is a free one and that nothing outlives the test
 * for long. A test that writes to the data directory gives its own.
 */
export const testConfig = (overrides: SettingsOverrides = {}): Settings => ({
  dataDir: overrides.dataDir ?? join(tmpdir(), "parley-test"),
  logFormat: overrides.logFormat ?? "json",
  logLevel: overrides.logLevel ?? "error",
  http: {
    host: "127.0.0.1",
    port: 0,
    adminPort: null,
    adminHost: "127.0.0.1",
    bodyBytesMax: 4_194_304,
    mediaBodyBytesMax: 33_554_432,
    bodiesBytesMax: 1_000_000_000,
    userBodyBytesMax: 1_000_000_000,
    userRequestsMax: 10_000,
    userRequestsPerMinute: 1_000_000,
    userWaitSeconds: 5,
    requestSeconds: 60,
    headersSeconds: 20,
    writeStallSeconds: 60,
    drainSeconds: 0,
    shutdownGraceSeconds: 5,
    openapiPublic: false,
    corsOrigins: [],
    ...overrides.http
  },
  stream: { beginSeconds: 15, keepaliveSeconds: 15, ...overrides.stream },
  database: { url: null, connectionsMax: 10, connectSeconds: 5, statementSeconds: 15, ...overrides.database },
  auth: {
    adminKey: null,
    initApiKey: null,
    initUserEmail: "admin@localhost",
    cacheSeconds: 5,
    ...overrides.auth
  },
  console: {
    publicUrl: null,
    basePath: "/",
    trustedProxies: [],
    sessionIdleSeconds: 604_800,
    sessionSeconds: 2_592_000,
    ...overrides.console
  },
  oidc: {
    issuer: null,
    clientId: null,
    clientSecret: null,
    name: "single sign-on",
    scopes: ["openid", "email"],
    allowedDomains: [],
    groups: null,
    groupsClaim: "groups",
    organization: null,
    requestSeconds: 10,
    ...overrides.oidc
  },
  policy: { plansFile: null, license: null, licensePublicKey: null, ...overrides.policy },
  models: {
    file: null,
    openaiBaseUrl: null,
    openaiApiKey: null,
    openaiModel: null,
    connectSeconds: 10,
    firstTokenSeconds: 120,
    idleSeconds: 60,
    concurrentMax: 10_000,
    queueSeconds: 10,
    retrySeconds: 3,
    fallbackSeconds: 10,
    balance: 50,
    reasoningOnV1: "off",
    reasoning: "keep",
    ...overrides.models
  },
  usage: { dailyTokens: null, monthlyTokens: null, waitSeconds: 5, ...overrides.usage },
  conversations: { leaseSeconds: 30, turnWaitSeconds: 120, retentionDays: 30, ...overrides.conversations },
  backup: {
    everyHours: 0,
    dir: null,
    keep: 7,
    passphrase: null,
    recipients: null,
    identity: null,
    ...overrides.backup
  },
  files: {
    store: "directory",
    moveTo: null,
    directoryShared: false,
    trashSeconds: 604_800,
    fileBytesMax: 536_870_912,
    filesPerUserMax: 10_000,
    bytesPerUserMax: 10_737_418_240,
    uploadsPerUserMax: 4,
    uploadSeconds: 3_600,
    processWaitSeconds: 30,
    extractionSeconds: 30,
    extractionMemoryBytes: 536_870_912,
    textBytesMax: 10_485_760,
    extractionsMax: 2,
    s3: null,
    ...overrides.files
  },
  tools: {
    enabled: toolNames,
    callSeconds: 30,
    searchProvider: null,
    searchUrl: null,
    searchKey: null,
    searchSeconds: 10,
    searchResultsMax: 8,
    fetchSeconds: 20,
    fetchBytesMax: 5_242_880,
    fetchAddresses: "named",
    webAllowHosts: [],
    webDenyHosts: [],
    egressAllow: [],
    ...overrides.tools
  },
  projects: {
    creators: "users",
    ownedMax: 100,
    ...overrides.projects
  },
  retrieval: {
    passagesCharactersMax: 8_000,
    embeddingsUrl: null,
    embeddingsKey: null,
    embeddingsModel: null,
    embeddingsWeight: 0.5,
    embeddingsQueryPrefix: null,
    embeddingsPassagePrefix: null,
    embeddingsSeconds: 30,
    ...overrides.retrieval
  },
  observability: {
    accessLog: true,
    metricsToken: null,
    metricsPort: null,
    metricsHost: "127.0.0.1",
    otlpEndpoint: null,
    otlpHeaders: null,
    otlpSignals,
    traceShare: 1,
    serviceName: "parley",
    resourceAttributes: null,
    ...overrides.observability
  }
})
