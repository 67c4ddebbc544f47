// The table of all settings: variable, kind, default and description. It defines the type `Config` and its
// parser; `npm run settings` writes .env.example and docs/configuration.md from it.
import { isWellFormed, type KeyMode } from '../encryption/api-key-format.ts'
import { builtinModel, readProviders } from './ai-providers.ts'
import { readLogo } from './logo.ts'
import { readOidcProviders } from './oidc-providers.ts'
import {
  boolean,
  databaseUrl,
  days,
  hosts,
  integer,
  networks,
  oneOf,
  optional,
  origins,
  parsed,
  path,
  ports,
  serverUrl,
  text,
  url,
  urls,
  type Setting,
} from './setting.ts'

const maxNumber = 1_000_000_000
const GiB = 1024 ** 3

const server = {
  host: text('HOST', { default: '127.0.0.1', description: 'Address to listen on.' }),
  port: integer('PORT', {
    min: 0,
    max: 65535,
    default: 3000,
    description: 'Port to listen on. 0 picks a free port.',
  }),
  publicUrl: optional(
    serverUrl('PUBLIC_URL', {
      defaultText: 'the host that the client used, else `http://HOST:PORT`',
      example: 'https://api.example.com',
      description: 'URL by which clients reach this server. Links in responses and receipts start with it.',
    }),
  ),
  filesUrl: optional(
    serverUrl('FILES_URL', {
      defaultText: 'PUBLIC_URL',
      example: 'https://files.example.com',
      description: `
        URL of another host name that leads to this server. Files, links and avatars are served there and
        nothing else, so that a file of a user can never act as a page of PUBLIC_URL.`,
    }),
  ),
  allowedHosts: hosts('ALLOWED_HOSTS', {
    example: 'platform.internal:3000',
    description: `
      Further hosts at which the server answers, with their ports, separated by commas. With PUBLIC_URL,
      requests at other hosts than those of PUBLIC_URL and FILES_URL get 400; health checks, /metrics, IP
      addresses and localhost do not.`,
  }),
  requestTimeout: integer('REQUEST_TIMEOUT', {
    min: 1,
    max: 3600,
    default: 30,
    description: `
      Seconds in which a request must arrive in full. Uploads may take longer (UPLOAD_TIMEOUT), but must not
      pause for this long.`,
  }),
  shutdownTimeout: integer('SHUTDOWN_TIMEOUT', {
    min: 0,
    max: 600,
    default: 8,
    description: 'Seconds that open requests have to finish when the server stops.',
  }),
  shutdownDelay: integer('SHUTDOWN_DELAY', {
    min: 0,
    max: 600,
    default: 0,
    description: `
      Seconds that a stopping server still accepts requests, while /readyz answers 503, so that a load
      balancer takes it out first.`,
  }),
  trustProxy: networks('TRUST_PROXY', {
    example: '127.0.0.1,10.0.0.0/8',
    description: `
      Proxies whose X-Forwarded-For header is trusted: IP addresses or ranges, separated by commas.`,
  }),
  console: boolean('CONSOLE', {
    default: true,
    description: 'Serves the console, pages for people who have an account or an API key, at /console.',
  }),
  brandName: optional(
    text('BRAND_NAME', {
      isValid: (value) => value.trim() === value && value.length <= 60 && !/[\p{Cc}]/u.test(value),
      rule: 'be a name of at most 60 characters',
      defaultText: 'none: pages show the name of the software',
      example: 'Acme Cloud',
      description: 'Name of the installation on pages and in e-mails.',
    }),
  ),
  brandColor: optional(
    text('BRAND_COLOR', {
      isValid: (value) => /^#[0-9a-f]{6}$/i.test(value),
      rule: 'be a color such as #1d4ed8',
      defaultText: 'blue',
      example: '#7c3aed',
      description: `
        Color of links and main buttons on pages. It becomes darker or lighter where text could not be read.`,
    }),
  ),
  brandLogo: optional(
    parsed('BRAND_LOGO', {
      parse: readLogo,
      defaultText: 'none',
      example: '/etc/platform/logo.svg',
      description: `
        Path of the logo, a square SVG or PNG file of at most 64 KiB, for pages, e-mails and receipts.`,
    }),
  ),
  corsOrigins: origins('CORS_ORIGINS', {
    example: 'https://app.example.com',
    description: `
      Origins whose pages may call the API, also with the session of the browser, separated by commas.`,
  }),
}

const database = {
  databaseUrl: optional(
    databaseUrl('DATABASE_URL', {
      targets: ['read-write', 'primary', 'any'],
      defaultText: 'embedded PostgreSQL',
      example: 'postgres://user:password@localhost:5432/platform',
      secret: true,
      description: `
        PostgreSQL database, version 15 or later. Without it the server runs an embedded PostgreSQL. With
        several hosts (\`postgres://user:password@one:5432,two:5432/platform\`, or \`?host=one,two\`) each
        connection goes to the one that accepts writes; \`target_session_attrs\` may be \`read-write\`,
        \`primary\` or \`any\`. See docs/high-availability.md.`,
    }),
  ),
  databaseDirectUrl: optional(
    databaseUrl('DATABASE_DIRECT_URL', {
      targets: ['read-write', 'primary', 'any'],
      defaultText: 'DATABASE_URL',
      example: 'postgres://user:password@localhost:5432/platform',
      secret: true,
      description: `
        The same database without a pooler in between. Required when DATABASE_URL leads to a pooler in
        transaction mode. Used for notifications, locks, migrations and searches. It may have several hosts,
        as DATABASE_URL.`,
    }),
  ),
  busUrl: optional(
    url('BUS_URL', {
      schemes: ['nats', 'tls'],
      defaultText: 'PostgreSQL',
      example: 'nats://user:password@localhost:4222',
      secret: true,
      description: `
        NATS, which carries the notifications between servers and workers. Without it PostgreSQL carries them,
        and each process listens on a connection of its own. All processes have the same value.`,
    }),
  ),
  databaseReadUrl: optional(
    databaseUrl('DATABASE_READ_URL', {
      targets: ['standby', 'read-only', 'prefer-standby', 'any'],
      defaultText: 'DATABASE_URL',
      example: 'postgres://user:password@replica:5432/platform',
      secret: true,
      description: `
        A streaming replica of the database, for lists and logs. Users who have just written read from the
        database itself, and all users do while the replica is away or late. With several hosts,
        connections go to one that is a standby.`,
    }),
  ),
  databaseReadMaxLag: integer('DATABASE_READ_MAX_LAG', {
    min: 1,
    max: 3600,
    default: 5,
    description: 'Seconds by which the replica of DATABASE_READ_URL may be late before it is not used.',
  }),
  databasePreparedStatements: boolean('DATABASE_PREPARED_STATEMENTS', {
    default: true,
    description: `
      Prepares statements by name, which makes them faster. Turn it off for poolers in transaction mode that
      do not support it, such as PgBouncer before 1.21.`,
  }),
  migrate: boolean('MIGRATE', {
    default: true,
    description: `
      Applies missing migrations at the start. Turn it off where \`npm run migrate\` is a step of its own; the
      server then refuses to start on a database that lacks migrations.`,
  }),
  dataDir: path('DATA_DIR', {
    default: '.data',
    description: 'Folder of the embedded PostgreSQL and, by default, of uploaded files.',
  }),
  databasePoolSize: integer('DATABASE_POOL_SIZE', {
    min: 1,
    max: 500,
    default: 10,
    description: `
      Maximum number of database connections of one process for requests. Searches in knowledge bases have a
      third as many of their own, and up to six are for health checks, jobs, notifications and locks.`,
  }),
}

const operation = {
  caFile: optional(
    path('CA_FILE', {
      defaultText: 'none',
      example: '/etc/platform/ca.pem',
      description: `
        Certificates (PEM) of authorities that are trusted besides the public ones, for every connection that
        the server opens with TLS: PostgreSQL, Redis, S3, models, payment gateway and webhooks.`,
    }),
  ),
  logLevel: oneOf('LOG_LEVEL', {
    values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    description: `
      Least severe level that is logged: fatal, error, warn, info, debug, trace or silent. The log goes to
      standard output, one JSON object per line; on a terminal, lines for people.`,
  }),
  metrics: boolean('METRICS', {
    default: false,
    description: `
      Serves GET /metrics in the Prometheus text format. The endpoint requires no key, so keep it off the
      public network.`,
  }),
  metricsPort: optional(
    integer('METRICS_PORT', {
      min: 1,
      max: 65535,
      defaultText: 'none',
      example: '9464',
      description: `
        Port of its own for GET /metrics, /healthz and /readyz, of a server or a worker. Two processes on one
        machine need different ones.`,
    }),
  ),
  metricsHost: text('METRICS_HOST', {
    default: '127.0.0.1',
    description: 'Address for METRICS_PORT.',
  }),
  auditRetentionDays: integer('AUDIT_RETENTION_DAYS', {
    min: 1,
    max: 3_650,
    default: 365,
    description: 'Days for which the audit log is kept.',
  }),
  requestRetentionDays: integer('REQUEST_RETENTION_DAYS', {
    min: 1,
    max: 90,
    default: 7,
    description: 'Days for which the requests of GET /requests are kept.',
  }),
  requestsKeptPerUser: integer('REQUESTS_KEPT_PER_USER', {
    min: 1,
    max: 1_000_000,
    default: 10_000,
    description: `
      Number of rows of GET /requests that are kept for each user. Every minute the oldest ones beyond it are
      deleted.`,
  }),
  validateResponses: boolean('VALIDATE_RESPONSES', {
    default: false,
    description: `
      Checks every response against the spec and returns 500 for one that does not match. Slow; meant for
      staging.`,
  }),
}

const access = {
  bootstrapApiKey: optional(
    text('BOOTSTRAP_API_KEY', {
      isValid: isWellFormed,
      rule: 'be a well-formed API key; create one with `npm run admin -- new-key`',
      defaultText: 'a random key',
      secret: true,
      description: `
        API key of the first owner, whom the first start on an empty database creates. Without it a random
        key is created and shown once: on a terminal, else in the file DATA_DIR/first-api-key. Create a key
        with \`npm run admin -- new-key\`.`,
    }),
  ),
  secretKey: optional(
    text('SECRET_KEY', {
      isValid: (value) => value.length >= 32,
      rule: 'have at least 32 characters; make one with `openssl rand -hex 32`',
      defaultText: 'DATA_DIR/secret-key, which the first start makes',
      secret: true,
      description: `
        Encrypts the secrets of webhook endpoints and authenticator apps in the database, and signs the tokens
        of sessions. All servers and workers of a database need the same one. Keep a copy: without it the
        secrets are lost.`,
    }),
  ),
  previousSecretKey: optional(
    text('SECRET_KEY_PREVIOUS', {
      isValid: (value) => value.length >= 32,
      rule: 'have at least 32 characters',
      secret: true,
      description: `
        SECRET_KEY before the last change. Servers and workers can read secrets of both keys, and encrypt all
        of them with SECRET_KEY after their start.`,
    }),
  ),
  bootstrapEmail: text('BOOTSTRAP_EMAIL', {
    isValid: (value) => /^[^@\s]+@[^@\s]+$/.test(value),
    rule: 'be an email address',
    default: 'owner@localhost.localdomain',
    description: 'Email address of the first owner.',
  }),
  keyMode: oneOf<KeyMode>('KEY_MODE', {
    values: ['live', 'test'],
    default: 'live',
    description: 'Whether new API keys start with plat_live_ or plat_test_.',
  }),
}

const signIn = {
  signUp: text('SIGN_UP', {
    isValid: (value) =>
      /^(off|open|invited|[a-z0-9-]+(\.[a-z0-9-]+)+(,[a-z0-9-]+(\.[a-z0-9-]+)+)*)$/.test(value),
    rule: 'be off, open, invited, or domains separated by commas',
    default: 'off',
    example: 'example.com,example.org',
    description: `
      Who can sign up: no one (off), everyone (open), people with an invitation to a project (invited), or
      people with an address of these domains.`,
  }),
  signInUrl: optional(
    url('SIGN_IN_URL', {
      schemes: ['https', 'http'],
      defaultText: 'none: e-mails show the token',
      example: 'https://app.example.com/sign-in',
      description: `
        Page of your application that links in e-mails lead to. Its fragment has the kind of the e-mail and
        the token: \`#kind=link&token=plat_once_…\`.`,
    }),
  ),
  accessTokenMinutes: integer('ACCESS_TOKEN_MINUTES', {
    min: 1,
    max: 1_440,
    default: 15,
    description: 'Minutes that an access token is valid. The end of its session ends it at once.',
  }),
  sessionIdleDays: integer('SESSION_IDLE_DAYS', {
    min: 1,
    max: 365,
    default: 14,
    description: 'Days after which a session ends that is not refreshed.',
  }),
  sessionMaxDays: integer('SESSION_MAX_DAYS', {
    min: 1,
    max: 3_650,
    default: 90,
    description: 'Days after which a session ends in any case.',
  }),
  signInRedirects: urls('SIGN_IN_REDIRECTS', {
    example: 'https://app.example.com/sign-in,https://admin.example.com/sign-in',
    description: `
      Further pages that browsers return to after a sign-in at an identity provider, separated by commas.
      Such a page must not redirect to another site, because it gets a token.`,
  }),
  passkeyDomain: optional(
    text('PASSKEY_DOMAIN', {
      isValid: (value) => /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(value),
      rule: 'be a domain',
      defaultText: 'the host of SIGN_IN_URL, else of PUBLIC_URL, else localhost',
      example: 'example.com',
      description: `
        Domain that passkeys belong to (the \`rpId\` of WebAuthn). Pages of the domain and of its subdomains
        can use them. A change makes all passkeys useless.`,
    }),
  ),
  oidcProviders: parsed('OIDC_PROVIDERS', {
    parse: readOidcProviders,
    default: '[]',
    defaultText: 'none',
    example:
      '[{"name":"google","issuer":"https://accounts.google.com","client_id":"...","client_secret":"..."}]',
    secret: true,
    description: `
      Identity providers with which people sign in (OpenID Connect): a JSON array on one line. The redirect
      URI to register there is \`PUBLIC_URL/v1/auth/oidc/NAME/callback\`. \`verified_emails: true\` is for a
      provider that verifies all email addresses and does not say so.`,
  }),
  smtpUrl: optional(
    url('SMTP_URL', {
      schemes: ['smtp', 'smtps'],
      defaultText: 'none: e-mails stay in the outbox',
      example: 'smtps://user:password@smtp.example.com',
      secret: true,
      description: `
        SMTP server that sends e-mails. Without it they stay in the outbox, which \`npm run admin -- outbox\`
        shows.`,
    }),
  ),
  mailFrom: text('MAIL_FROM', {
    isValid: (value) => /^[^\r\n]*[^@\s]+@[^@\s]+$/.test(value),
    rule: 'be an email address, with a name before it if you like: Platform <no-reply@example.com>',
    default: 'Platform <no-reply@localhost.localdomain>',
    description: 'Sender of e-mails.',
  }),
}

const rateLimits = {
  redisUrl: optional(
    url('REDIS_URL', {
      schemes: ['redis', 'rediss'],
      defaultText: 'none',
      example: 'redis://localhost:6379',
      secret: true,
      description: 'Redis for rate limits that several servers share. Without it each server counts alone.',
    }),
  ),
  defaultRateLimit: rateLimit('RATE_LIMIT_DEFAULT', 600, 'reads, by user'),
  writeRateLimit: rateLimit('RATE_LIMIT_WRITE', 120, 'writes, by user'),
  uploadRateLimit: rateLimit('RATE_LIMIT_UPLOAD', 60, 'new uploads, by user'),
  aiRateLimit: rateLimit('RATE_LIMIT_AI', 60, 'AI answers and searches, by user'),
  pageRateLimit: rateLimit('RATE_LIMIT_PAGE', 120, 'payment pages, by IP address'),
  gatewayRateLimit: rateLimit('RATE_LIMIT_GATEWAY', 1200, 'webhooks of payment gateways, by IP address'),
  healthRateLimit: rateLimit('RATE_LIMIT_HEALTH', 600, 'readiness checks, by IP address'),
  authRateLimit: rateLimit('RATE_LIMIT_AUTH', 30, 'sign-ins and tokens of e-mails, by IP address'),
  mailRateLimit: rateLimit('RATE_LIMIT_MAIL', 10, 'requests that send an e-mail, by IP address'),
  refreshRateLimit: rateLimit('RATE_LIMIT_REFRESH', 600, 'refreshes of sessions, by IP address'),
  passwordRateLimit: rateLimit('RATE_LIMIT_PASSWORD', 10, 'changes that need the password, by user'),
  requestsPerUser: integer('REQUESTS_PER_USER', {
    min: 1,
    max: 1_000_000,
    default: 200,
    description: `
      Maximum number of requests that a user may have open at once on one server, besides uploads, streams
      and AI answers. Their transactions use at most 40 % of the database connections of the server at once,
      and fewer on a machine with few CPUs; the others wait.`,
  }),
  addressRateLimit: rateLimit(
    'RATE_LIMIT_ADDRESS',
    120,
    `without a valid API key, for documents and for unknown paths, by IPv4 address or IPv6 /64 network`,
  ),
}

/** A policy of `x-rate-limits` in the spec. The spec's number holds where the setting is null. */
function rateLimit(variable: string, specLimit: number, what: string): Setting<number | null> {
  return optional(
    integer(variable, {
      min: 1,
      max: maxNumber,
      defaultText: String(specLimit),
      example: String(specLimit),
      description: `Requests per minute: ${what}.`,
    }),
  )
}

const storage = {
  storage: oneOf('STORAGE', {
    values: ['disk', 's3'],
    default: 'disk',
    description: `
      Where files are stored: disk, or s3 for an S3-compatible object store. A folder or bucket belongs to
      one database: servers of another one refuse to start.`,
  }),
  storageSecond: optional(
    oneOf('STORAGE_SECOND', {
      values: ['disk', 's3'],
      description: `
        While files move between disk and s3: the other store, which is read when STORAGE does not have a
        file.`,
    }),
  ),
  storageDir: optional(
    path('STORAGE_DIR', {
      defaultText: '`DATA_DIR/files`',
      example: '.data/files',
      description: 'Folder of the files. With S3: of the bytes of requests that are being received.',
    }),
  ),
  uploadMaxBytes: integer('UPLOAD_MAX_BYTES', {
    min: 1,
    max: 2 ** 50,
    default: 5 * GiB,
    description: 'Maximum size of a file in bytes (5 GiB).',
  }),
  uploadTimeout: integer('UPLOAD_TIMEOUT', {
    min: 1,
    max: 7 * 86_400,
    default: 6 * 3600,
    description: 'Seconds in which an upload request must complete (6 hours).',
  }),
  uploadsPerUser: integer('UPLOADS_PER_USER', {
    min: 1,
    max: 1_000_000,
    default: 100,
    description: 'Maximum number of uploads that a user may send to one server at once.',
  }),
  resumableUploadHours: integer('RESUMABLE_UPLOAD_HOURS', {
    min: 1,
    max: 720,
    default: 24,
    description: 'Hours after which an unfinished resumable upload expires.',
  }),
  storageQuotaUser: integer('STORAGE_QUOTA_USER', {
    min: 0,
    max: 2 ** 53 - 1,
    default: 50 * GiB,
    description: "Maximum total size in bytes of a user's files outside projects (50 GiB).",
  }),
  storageQuotaProject: integer('STORAGE_QUOTA_PROJECT', {
    min: 0,
    max: 2 ** 53 - 1,
    default: 200 * GiB,
    description: "Maximum total size in bytes of a project's files (200 GiB).",
  }),
  storageVersions: integer('STORAGE_VERSIONS', {
    min: 0,
    max: 1000,
    default: 20,
    description: `
      Former contents that are kept of a file whose content is replaced. With 0 none is kept. Their bytes
      count in the quota.`,
  }),
  storageVersionDays: integer('STORAGE_VERSION_DAYS', {
    min: 1,
    max: 3650,
    default: 90,
    description: 'Days for which a version of a file is kept after another content has replaced it.',
  }),
  storageTrashDays: integer('STORAGE_TRASH_DAYS', {
    min: 0,
    max: 3650,
    default: 30,
    description: `
      Days for which a deleted file stays in the trash, from which users can restore it. With 0 there is no
      trash: a deletion is permanent.`,
  }),
  storageQuarantineDays: integer('STORAGE_QUARANTINE_DAYS', {
    min: 1,
    max: 3650,
    default: 7,
    description: `
      Days for which the bytes of deleted files, and blobs that no file refers to, stay in the store. Keep
      them at least as long as the backups of the database.`,
  }),
  storageSweep: boolean('STORAGE_SWEEP', {
    default: true,
    description: `
      Whether blobs are removed from the store after STORAGE_QUARANTINE_DAYS. With false the store keeps
      everything.`,
  }),
  storageSweepMaxPercent: integer('STORAGE_SWEEP_MAX_PERCENT', {
    min: 0,
    max: 100,
    default: 5,
    description: `
      The sweep of the store stops with an error, and removes nothing, when the database knows no file for
      more than this percentage of the blobs. Up to 10 unknown blobs are always allowed.`,
  }),
}

/** Read with STORAGE=s3 or STORAGE_SECOND=s3 only. */
export const s3Settings = {
  bucket: optional(text('S3_BUCKET', { example: 'platform-files', description: 'Bucket; required.' })),
  region: text('S3_REGION', { default: 'us-east-1', description: 'Region of the bucket.' }),
  endpoint: optional(
    url('S3_ENDPOINT', {
      schemes: ['http', 'https'],
      defaultText: 'AWS',
      example: 'https://s3.example.com',
      description: 'URL of the object store.',
    }),
  ),
  accessKeyId: optional(
    text('S3_ACCESS_KEY_ID', {
      defaultText: "the machine's role or profile",
      description: 'Access key. Set it together with S3_SECRET_ACCESS_KEY.',
    }),
  ),
  secretAccessKey: optional(
    text('S3_SECRET_ACCESS_KEY', { secret: true, description: 'Secret of the access key.' }),
  ),
  redirect: boolean('S3_REDIRECT', {
    default: false,
    description: `
      Redirects downloads to presigned URLs of the object store instead of passing them through.`,
  }),
}

const events = {
  eventRetentionDays: integer('EVENT_RETENTION_DAYS', {
    min: 1,
    max: 3650,
    default: 30,
    description:
      'Days for which events and their webhook deliveries are kept at least. Then their month is dropped.',
  }),
  streamsPerUser: integer('STREAMS_PER_USER', {
    min: 1,
    max: 1_000_000,
    default: 100,
    description: 'Maximum number of event streams that a user may have open on one server.',
  }),
  streamPing: integer('STREAM_PING', {
    min: 1,
    max: 100,
    default: 10,
    description: 'Seconds without an event after which a stream sends a ping.',
  }),
  streamWriteTimeout: integer('STREAM_WRITE_TIMEOUT', {
    min: 1,
    max: 3600,
    default: 30,
    description: 'Seconds after which a stream is closed when its client does not read it.',
  }),
}

const workers = {
  worker: boolean('WORKER', {
    default: true,
    description: `
      Whether this server also runs the background workers: webhooks, documents, subscriptions and payment
      gateways. With false, run \`npm run worker\` beside it.`,
  }),
  webhookConcurrency: integer('WEBHOOK_CONCURRENCY', {
    min: 1,
    max: 10_000,
    default: 100,
    description: `
      Number of webhooks that a process sends at once. Slow endpoints get four times as many in addition,
      and failing endpoints as many again.`,
  }),
  webhookEndpointsPerUser: integer('WEBHOOK_ENDPOINTS_PER_USER', {
    min: 1,
    max: 100_000,
    default: 50,
    description: 'Maximum number of webhook endpoints of a user.',
  }),
  webhookAllowedNetworks: networks('WEBHOOK_ALLOWED_NETWORKS', {
    example: '127.0.0.0/8,::1/128',
    description: `
      Private networks that webhooks and sources may reach, as ranges separated by commas. By default they
      reach public addresses only.`,
  }),
  webhookAllowedPorts: ports('WEBHOOK_ALLOWED_PORTS', {
    default: '80,443,8000-9999',
    description: 'Ports that webhooks and sources may reach, as numbers and ranges separated by commas.',
  }),
}

const payments = {
  sellerName: text('SELLER_NAME', {
    default: 'Platform',
    description: 'Name of the seller on receipts and on the sandbox payment page.',
  }),
  checkoutRedirectOrigins: origins('CHECKOUT_REDIRECT_ORIGINS', {
    example: 'https://shop.example.com',
    description: 'Origins of shops to which the payment page redirects. Others get a link with the host.',
  }),
  paymentRetryDays: days('PAYMENT_RETRY_DAYS', {
    default: '1,3,5,9,14',
    description: `
      Days after the start of a period on which the failed payment of a renewal is tried again, in ascending
      order.`,
  }),
  paymentRetryEnd: oneOf('PAYMENT_RETRY_END', {
    values: ['cancel', 'unpaid'],
    default: 'cancel',
    description: `
      What follows the last try: \`cancel\` ends the subscription, \`unpaid\` keeps it until its order is
      paid.`,
  }),
  usageWindowDays: integer('USAGE_WINDOW_DAYS', {
    min: 1,
    max: 3650,
    default: 35,
    description: `
      How many days ago recorded usage may be. Usage that arrives after its period was billed counts in the
      next period, if its period ended at most this many days ago.`,
  }),
  usageEventDays: integer('USAGE_EVENT_DAYS', {
    min: 66,
    max: 36500,
    default: 100,
    description: `
      How many days events of usage are kept: their ids are remembered, and they can be voided. At least 65
      more than USAGE_WINDOW_DAYS: a period of a month is counted again with the next order, at most so much
      later. The usage of each hour is kept for 25 months.`,
  }),
  organizationSales: oneOf('ORGANIZATION_SALES', {
    values: ['sandbox', 'all'],
    default: 'sandbox',
    description: `
      How organizations sell: in the \`sandbox\` only, or with \`all\` gateways, whose payments go to the
      operator. With \`all\`, their customers get receipts by e-mail.`,
  }),
  paymentGateway: oneOf('PAYMENT_GATEWAY', {
    values: ['sandbox', 'stripe'],
    default: 'sandbox',
    description: 'Payment gateway: `sandbox` (no money moves) or `stripe`.',
  }),
}

/** Read with PAYMENT_GATEWAY=stripe only. */
export const stripeSettings = {
  secretKey: optional(
    text('STRIPE_SECRET_KEY', {
      isValid: (value) => /^(sk|rk)_\w+$/.test(value),
      rule: 'be a secret or restricted key, which begins with sk_ or rk_',
      example: 'sk_live_...',
      secret: true,
      description: `
        Secret key, or a restricted key that may write checkout sessions, customers, payment intents, payment
        methods, subscriptions and refunds and read charges, disputes and invoices. Required with stripe.`,
    }),
  ),
  webhookSecret: optional(
    text('STRIPE_WEBHOOK_SECRET', {
      isValid: (value) => /^whsec_\S+$/.test(value),
      rule: "be the webhook endpoint's signing secret, which begins with whsec_",
      example: 'whsec_...',
      secret: true,
      description: `
        Signing secret of the webhook endpoint in Stripe's dashboard whose URL is
        PUBLIC_URL/v1/payments/webhooks/stripe. Required with stripe.`,
    }),
  ),
  apiBase: optional(
    url('STRIPE_API_BASE', {
      schemes: ['http', 'https'],
      defaultText: 'Stripe',
      example: 'https://api.stripe.com',
      description: "Address of Stripe's API, for a mock of it.",
    }),
  ),
}

const ai = {
  aiProviders: parsed('AI_UPSTREAMS', {
    parse: readProviders,
    default: '[]',
    defaultText: 'none',
    example:
      '[{"name":"openai","base_url":"https://api.openai.com/v1","api_key":"sk-...",' +
      '"models":[{"id":"gpt-5-mini"}]}]',
    secret: true,
    description: `
      Servers of AI models that speak OpenAI's API: a JSON array on one line. A server has \`name\`,
      \`base_url\`, and optionally \`api_key\`, \`models\` and \`embeddings\`. A model has \`id\`, and
      optionally \`upstream_id\` (the id that the server has for it), \`context_window\`,
      \`max_output_tokens\`, \`vision\` (whether it reads images), \`input_price\`,
      \`output_price\` and \`cached_input_price\` (per million
      tokens). If several servers have a model, they are tried in this order until one answers.
      \`embeddings\` has \`model\`, \`dimensions\`, and optionally \`upstream_id\` and \`input_price\`; all
      servers have the same model. The built-in model extractive-1, which quotes from knowledge bases, is
      always available.`,
  }),
  aiDefaultModel: optional(
    text('AI_DEFAULT_MODEL', {
      defaultText: `the first model of AI_UPSTREAMS, else ${builtinModel}`,
      example: 'gpt-5-mini',
      description: 'Model of chats that name none.',
    }),
  ),
  aiCurrency: text('AI_CURRENCY', {
    default: 'usd',
    isValid: (value) => /^[a-z]{3}$/.test(value),
    rule: 'be a currency code in lower case, such as eur',
    example: 'eur',
    description: 'Currency of the prices in AI_UPSTREAMS.',
  }),
  aiTimeout: seconds('AI_TIMEOUT', 300, 'Seconds that an answer of a server may take as a whole.'),
  aiFirstTokenTimeout: seconds(
    'AI_FIRST_TOKEN_TIMEOUT',
    60,
    'Seconds until the first token of an answer of a server, retries included. They start again after an ' +
      'attempt that sent reasoning only.',
  ),
  aiIdleTimeout: seconds('AI_IDLE_TIMEOUT', 30, 'Seconds between two chunks of an answer.'),
  aiRetries: integer('AI_RETRIES', {
    min: 0,
    max: 10,
    default: 2,
    description: 'Number of retries after the last server of a model failed before the first token.',
  }),
  aiStreamsPerUser: integer('AI_STREAMS_PER_USER', {
    min: 1,
    max: 1_000_000,
    default: 20,
    description: 'Maximum number of answers that a user may have in progress at once.',
  }),
  aiTokensPerDay: integer('AI_TOKENS_PER_DAY', {
    min: 0,
    max: 2 ** 53 - 1,
    default: 0,
    description: `
      Maximum number of tokens that a user may use per UTC day, for answers and embeddings, together with the
      service accounts that share the user's limits. An answer that begins below the limit is completed. 0
      means no limit.`,
  }),
  documentMaxBytes: integer('DOCUMENT_MAX_BYTES', {
    min: 1,
    max: 2 ** 40,
    default: 50 * 1024 ** 2,
    description: 'Maximum size in bytes of a document of a knowledge base (50 MiB).',
  }),
  documentConcurrency: integer('DOCUMENT_CONCURRENCY', {
    min: 1,
    max: 100,
    default: 2,
    description: 'Number of documents that a process parses at once.',
  }),
}

function seconds(variable: string, value: number, description: string): Setting<number> {
  return integer(variable, { min: 1, max: 86_400, default: value, description })
}

const quotas = {
  quotaApiKeys: quota('api_keys', 100, 'API keys that are not revoked'),
  quotaProjects: quota('projects', 100, 'projects of their own, with deleted ones'),
  quotaOrganizations: quota('organizations', 20, 'organizations that they have created, with deleted ones'),
  quotaOrganizationMembers: quota(
    'organization_members',
    2000,
    'members and invitations of organizations that they have added',
  ),
  quotaCustomRoles: quota('custom_roles', 200, 'custom roles that they have created'),
  quotaServiceAccounts: quota('service_accounts', 100, 'service accounts, each user and each organization'),
  quotaMembers: quota('members', 10_000, 'members that they have added to projects'),
  quotaInvitations: quota('invitations', 1000, 'pending invitations'),
  quotaFiles: quota('files', 1_000_000, 'files'),
  quotaFileLinks: quota('file_links', 10_000, 'links to files that are not revoked'),
  quotaUploadLinks: quota('upload_links', 1000, 'upload links that are not revoked'),
  quotaUploads: quota('uploads', 100, 'unfinished resumable uploads'),
  quotaKnowledgeBases: quota('knowledge_bases', 200, 'knowledge bases'),
  quotaDocuments: quota('documents', 20_000, 'documents of knowledge bases'),
  quotaDocumentBytes: quota('document_bytes', 1024 ** 3, 'bytes of documents', '1 GiB'),
  quotaSessions: quota('sessions', 10_000, 'chat sessions'),
  quotaMessages: quota('messages', 500_000, 'messages of chats'),
  quotaProducts: quota('products', 10_000, 'products, each organization'),
  quotaPrices: quota('prices', 100_000, 'prices, each organization'),
  quotaCustomers: quota('customers', 1_000_000, 'customers, each seller'),
  quotaMeters: quota('meters', 1000, 'meters, each seller'),
  quotaFeatures: quota('features', 1000, 'features, each seller'),
  quotaPendingOrders: quota('pending_orders', 1000, 'orders that are not paid'),
  quotaSubscriptions: quota('subscriptions', 1000, 'subscriptions that have not ended'),
}

/**
 * The quotas of a user, by setting. `quota` is the name in prisma/sql/functions/all-quotas.sql, in errors and
 * in GET /user/limits; `what` is the text in messages.
 */
export const quotaSettings = {
  ...quotas,
  // Its variable is older than the prefix QUOTA_.
  webhookEndpointsPerUser: { quota: 'webhook_endpoints', what: 'webhook endpoints' },
} as const

function quota<Name extends string>(
  name: Name,
  value: number,
  what: string,
  size?: string,
): Setting<number> & { quota: Name; what: string } {
  const setting = integer(`QUOTA_${name.toUpperCase()}`, {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    default: value,
    description: `Maximum for each user: ${what}${size === undefined ? '' : ` (${size})`}.`,
  })
  return { ...setting, quota: name, what }
}

/** The settings that are always read. */
export const settings = {
  ...server,
  ...database,
  ...operation,
  ...access,
  ...rateLimits,
  ...quotas,
  ...storage,
  ...events,
  ...signIn,
  ...workers,
  ...payments,
  ...ai,
}

/** The groups of the documentation, in order. */
export const groups: Array<{ title: string; settings: Record<string, Setting<unknown>> }> = [
  { title: 'Server', settings: server },
  { title: 'Database', settings: database },
  { title: 'Logging and monitoring', settings: operation },
  { title: 'First owner and API keys', settings: access },
  { title: 'Rate limits', settings: rateLimits },
  { title: 'Quotas', settings: quotas },
  { title: 'Files', settings: storage },
  { title: 'S3, with STORAGE=s3', settings: s3Settings },
  { title: 'Events and streams', settings: events },
  { title: 'Sign-in and e-mail', settings: signIn },
  { title: 'Background workers and webhooks', settings: workers },
  { title: 'Payments', settings: payments },
  { title: 'Stripe, with PAYMENT_GATEWAY=stripe', settings: stripeSettings },
  { title: 'AI and knowledge bases', settings: ai },
]
