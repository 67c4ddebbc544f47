// Mistakes about SQL that a new migration makes: it changes what a statement, its caller or a file of
// prisma/sql/functions relies on.

export interface SqlMistake {
  name: string
  /** The text must occur in the file; the first occurrence is replaced. A null text: a new file. */
  edits: Array<[file: string, text: string | null, replacement: string]>
  /** The SQL of a new migration. Default: none. */
  migration?: string
  /** The generator, the compiler after it, or the step `sql` of `npm run check`. */
  foundBy: 'generate' | 'compile' | 'check'
  /** The place: the start of a text in a file that has the edits. */
  at: [file: string, text: string]
  message: RegExp
}

export const migrationFile = 'prisma/migrations/20991231000000_seeded/migration.sql'
const payments = 'prisma/sql/payments'
const projects = 'prisma/sql/projects'
const functions = 'prisma/sql/functions'
const sessions = 'services/ai/chat/sessions.ts'

export const inMigrations: Array<Omit<SqlMistake, 'edits'>> = [
  {
    name: 'a column is renamed',
    migration: 'ALTER TABLE projects RENAME category TO kind',
    foundBy: 'generate',
    at: ['prisma/schema.prisma', '  category '],
    message: /no migration makes the column category of the model Project/,
  },
  {
    name: 'a column is dropped',
    migration: 'ALTER TABLE file_links DROP download_count',
    foundBy: 'generate',
    at: ['prisma/schema.prisma', '  downloadCount Int '],
    message: /no migration makes the column download_count of the model FileLink/,
  },
  {
    name: 'a column gets a type that a condition cannot compare',
    migration: 'ALTER TABLE projects ALTER deleted_at TYPE text',
    foundBy: 'generate',
    at: [`${projects}/is-expired.sql`, '< now()'],
    message: /operator does not exist: text < timestamp with time zone/,
  },
  {
    name: 'a column gets a type that a caller cannot compare',
    migration: 'ALTER TABLE orders ALTER total_amount TYPE numeric',
    foundBy: 'compile',
    at: ['services/payments/refunds.ts', 'available === 0'],
    message: /types 'string' and 'number' have no overlap/,
  },
  {
    name: 'a column gets a type that a caller cannot return',
    migration: 'ALTER TABLE storage_usage ALTER bytes TYPE numeric',
    foundBy: 'compile',
    at: ['services/storage/quota.ts', 'return await sql.readUsage'],
    message: /Type 'string' is not assignable to type 'number'/,
  },
  {
    name: 'a column becomes nullable',
    migration: 'ALTER TABLE projects ALTER name DROP NOT NULL',
    foundBy: 'compile',
    at: ['services/projects/projects.ts', 'return { ...project, your_role, owner_id, member_count }'],
    message: /Type 'string \| null' is not assignable to type 'string'/,
  },
  {
    name: 'a column is added that every INSERT must give',
    migration: 'ALTER TABLE refunds ADD region text NOT NULL',
    foundBy: 'generate',
    at: [`${payments}/insert-refund.sql`, 'refunds'],
    message: /the INSERT lacks refunds\.region, which is NOT NULL and has no default/,
  },
  {
    name: 'a number becomes nullable',
    migration: 'ALTER TABLE refunds ALTER amount DROP NOT NULL',
    foundBy: 'compile',
    at: ['services/payments/refunds.ts', 'return'],
    message: /Type 'number \| null' is not assignable to type 'number'/,
  },
  {
    name: 'a table that a function reads is dropped',
    migration: 'DROP TABLE payment_clock',
    foundBy: 'generate',
    at: [`${functions}/payments-now.sql`, '"payment_clock"'],
    message: /relation "payment_clock" does not exist/,
  },
  {
    name: 'a label of an enum is renamed',
    migration: `ALTER TYPE "OrderStatus" RENAME VALUE 'partially_refunded' TO 'partly_refunded'`,
    foundBy: 'generate',
    at: [`${payments}/add-refunded-amount.sql`, "'partially_refunded')"],
    message: /invalid input value for enum "OrderStatus": "partially_refunded"/,
  },
  {
    name: 'a label of an enum is removed',
    migration: `
      ALTER TYPE "SessionStatus" RENAME TO "OldStatus";
      CREATE TYPE "SessionStatus" AS ENUM ('active');
      ALTER TABLE ai_sessions ALTER status DROP DEFAULT;
      ALTER TABLE ai_sessions ALTER status TYPE "SessionStatus" USING 'active';
      ALTER TABLE ai_sessions ALTER status SET DEFAULT 'active'`,
    foundBy: 'compile',
    at: [sessions, '{ title, ...rest, ...workspaces }'],
    message: /'"archived"' is not assignable to type '"active"/,
  },
  {
    name: 'a label is added to an enum',
    migration: `ALTER TYPE "ProjectStatus" ADD VALUE 'frozen'`,
    foundBy: 'compile',
    at: ['services/projects/projects.ts', 'return { ...project, your_role, owner_id, member_count }'],
    message: /'"frozen"' is not assignable to type/,
  },
  {
    name: 'a trigger is dropped',
    migration: 'DROP TRIGGER members_count_insert ON members',
    foundBy: 'generate',
    at: [`${functions}/count-members.sql`, 'CREATE OR REPLACE TRIGGER members_count_insert'],
    message: /no migration creates the trigger members_count_insert on members, or a later one drops it/,
  },
  {
    name: 'a function is changed in a migration only',
    migration:
      'CREATE OR REPLACE FUNCTION payments_now() RETURNS timestamptz LANGUAGE sql STABLE ' +
      'AS $$ SELECT statement_timestamp() $$',
    foundBy: 'generate',
    at: [`${functions}/payments-now.sql`, 'CREATE OR REPLACE FUNCTION'],
    message: /the function payments_now differs from the one that the migrations create/,
  },
  {
    name: 'a function is created in a migration only',
    migration: 'CREATE FUNCTION next_number() RETURNS int LANGUAGE sql RETURN 1',
    foundBy: 'generate',
    at: [migrationFile, 'CREATE FUNCTION'],
    message: /this function next_number is not in prisma\/sql\/functions\/next-number\.sql/,
  },
]
