// Mistakes about SQL to seed into a copy of the project, one at a time: in a file of prisma/sql, in a new
// migration, or in a caller. Each is found before any test runs, at its place.

import { inMigrations, type SqlMistake } from './seeded-migrations.ts'

const payments = 'prisma/sql/payments'
const projects = 'prisma/sql/projects'
const functions = 'prisma/sql/functions'
const links = 'services/storage/links.ts'
const members = 'services/projects/members.ts'
const sessions = 'services/ai/chat/sessions.ts'

const inFiles: SqlMistake[] = [
  {
    name: 'a table is renamed',
    edits: [['prisma/schema.prisma', '@@map("gateway_events")', '@@map("stripe_events")']],
    migration: 'ALTER TABLE gateway_events RENAME TO stripe_events',
    foundBy: 'generate',
    at: ['prisma/sql/payments/find-gateway-event.sql', 'gateway_events'],
    message: /relation "gateway_events" does not exist/,
  },
  {
    name: 'a function is changed in its file only',
    edits: [[`${functions}/payments-now.sql`, '1 millisecond', '1 second']],
    foundBy: 'generate',
    at: [`${functions}/payments-now.sql`, 'CREATE OR REPLACE FUNCTION'],
    message: /the function payments_now differs/,
  },
  {
    name: 'a trigger is changed in its file only',
    edits: [[`${functions}/require-owner.sql`, 'AFTER DELETE OR UPDATE', 'AFTER UPDATE']],
    foundBy: 'generate',
    at: [`${functions}/require-owner.sql`, 'CREATE CONSTRAINT TRIGGER'],
    message: /the trigger members_require_owner on members differs/,
  },
  {
    name: 'no migration creates the function of a file',
    edits: [
      [
        `${functions}/next-number.sql`,
        null,
        '-- The next number.\nCREATE FUNCTION next_number() RETURNS int LANGUAGE sql RETURN 1',
      ],
    ],
    foundBy: 'generate',
    at: [`${functions}/next-number.sql`, 'CREATE FUNCTION'],
    message: /no migration creates the function next_number/,
  },
  {
    name: 'a column is misspelt',
    edits: [[`${projects}/find-project.sql`, 'm.role', 'm.rolle']],
    foundBy: 'generate',
    at: [`${projects}/find-project.sql`, 'm.rolle'],
    message: /column m\.rolle does not exist/,
  },
  {
    name: 'a column of an included file is misspelt',
    edits: [['prisma/sql/chat/session-columns.sql', 's.message_count', 's.messages_count']],
    foundBy: 'generate',
    at: ['prisma/sql/chat/session-columns.sql', 's.messages_count'],
    message: /column s\.messages_count does not exist/,
  },
  {
    name: 'an enum has no such label',
    edits: [[`${projects}/find-other-owner.sql`, "'owner'", "'boss'"]],
    foundBy: 'generate',
    at: [`${projects}/find-other-owner.sql`, "'boss'"],
    message: /invalid input value for enum "MemberRole": "boss"/,
  },
  {
    name: 'a parameter of one type is assigned to a column of another',
    edits: [[`${projects}/transfer-project.sql`, 'version = version + 1', 'version = :id']],
    foundBy: 'generate',
    at: [`${projects}/transfer-project.sql`, ':id,'],
    message: /column "version" is of type integer but expression is of type text/,
  },
  {
    name: 'a value has the wrong type',
    edits: [[`${payments}/insert-refund.sql`, ':reason?, :metadata', ':reason?, true']],
    foundBy: 'generate',
    at: [`${payments}/insert-refund.sql`, 'true'],
    message: /column "metadata" is of type jsonb but expression is of type boolean/,
  },
  {
    name: 'an INSERT lacks a value',
    edits: [[`${payments}/insert-refund.sql`, ':payment_id, ', '']],
    foundBy: 'generate',
    at: [`${payments}/insert-refund.sql`, 'updated_at)'],
    message: /INSERT has more target columns than expressions/,
  },
  {
    name: 'an included file does not exist',
    edits: [[`${projects}/find-project.sql`, '{project-columns}', '{project-column}']],
    foundBy: 'generate',
    at: [`${projects}/find-project.sql`, '{project-column}'],
    message: /there is no file prisma\/sql\/projects\/project-column\.sql/,
  },
  {
    name: 'an included file gets no argument',
    edits: [[`${payments}/find-order.sql`, '{order-columns items=order_items}', '{order-columns}']],
    foundBy: 'generate',
    at: [`${payments}/order-columns.sql`, '{items}'],
    message: /there is no file prisma\/sql\/payments\/items\.sql/,
  },
  {
    name: 'a statement without columns returns a row',
    edits: [[`${projects}/delete-project.sql`, '@none', '@one']],
    foundBy: 'generate',
    at: [`${projects}/delete-project.sql`, '-- @one'],
    message: /a statement with @one returns columns/,
  },
  {
    name: 'a @type names no column',
    edits: [['prisma/sql/users/read-settings.sql', '@type ai', '@type ia']],
    foundBy: 'generate',
    at: ['prisma/sql/users/read-settings.sql', '-- @type ia'],
    message: /there is no column ia/,
  },
  {
    name: 'a syntax error',
    edits: [[`${projects}/list-expired-projects.sql`, 'ORDER BY', 'SORT BY']],
    foundBy: 'generate',
    at: [`${projects}/list-expired-projects.sql`, 'SORT BY'],
    message: /syntax error at or near "SORT"/,
  },
  {
    name: 'a sort key is no column',
    edits: [['prisma/sql/storage/list-files.sql', '-- @sort bytes\nf.bytes', '-- @sort bytes\nf.size']],
    foundBy: 'generate',
    at: ['prisma/sql/storage/list-files.sql', 'f.size'],
    message: /column f\.size does not exist/,
  },
  {
    name: 'a filter names no column',
    edits: [[`${payments}/list-orders.sql`, 'o.status =', 'o.state =']],
    foundBy: 'generate',
    at: [`${payments}/list-orders.sql`, 'o.state'],
    message: /column o\.state does not exist/,
  },
  {
    name: 'two columns have one name',
    edits: [['prisma/sql/auth/find-session.sql', 'u.status,', 'u.status, u.id,']],
    foundBy: 'generate',
    at: ['prisma/sql/auth/find-session.sql', 'u.id,'],
    message: /two columns are named id/,
  },
  {
    name: 'nothing calls a statement',
    edits: [['services/payments/clock.ts', 'await sql.moveClock(db, { to })', 'void [db, to]']],
    foundBy: 'check',
    at: [`${payments}/move-clock.sql`, '-- Moves the payment clock'],
    message: /nothing uses this file/,
  },
  {
    name: 'no file includes a fragment',
    edits: [
      [`${projects}/has-owner.sql`, null, '-- Whether the project has an owner.\nowner_id IS NOT NULL'],
    ],
    foundBy: 'check',
    at: [`${projects}/has-owner.sql`, '-- Whether'],
    message: /nothing uses this file/,
  },
  {
    name: 'a service contains SQL',
    edits: [['services/storage/quota.ts', '/** The quota', "export const a = 'SELECT 1'\n\n/** The quota"]],
    foundBy: 'check',
    at: ['services/storage/quota.ts', "'SELECT"],
    message: /put this SQL into prisma\/sql/,
  },
  {
    name: 'a service asks Prisma for several rows',
    edits: [
      [
        'services/auth/passkeys.ts',
        'tx.prisma.passkey.delete({ where: { id }, select: { id: true } })',
        'tx.prisma.passkey.deleteMany({ where: { id } })',
      ],
    ],
    foundBy: 'check',
    at: ['services/auth/passkeys.ts', 'prisma.passkey.deleteMany'],
    message: /Prisma is for one row by its id/,
  },
]

const inCallers: Array<Omit<SqlMistake, 'foundBy'>> = [
  {
    name: 'two parameters of different types are swapped',
    edits: [
      [links, 'digest: digestOf(token)', 'digest: maxDownloads'],
      [links, 'max_downloads: maxDownloads', 'max_downloads: digestOf(token)'],
    ],
    at: [links, 'digest: maxDownloads'],
    message: /Type 'number \| null' is not assignable to type 'Buffer/,
  },
  {
    name: 'a parameter is missing',
    edits: [[members, '{ project_id: projectId, member_id: id }', '{ project_id: projectId }']],
    at: [members, '{ project_id: projectId }'],
    message: /Property 'member_id' is missing/,
  },
  {
    name: 'a parameter is misspelt',
    edits: [['services/users/settings.ts', '{ user_id: userId }', '{ userid: userId }']],
    at: ['services/users/settings.ts', 'userid: userId'],
    message: /'userid' does not exist in type '{ user_id: string; }'/,
  },
  {
    name: 'the statement does not use a parameter',
    edits: [[links, 'sql.revokeLink(db, { id })', 'sql.revokeLink(db, { id, at: new Date() })']],
    at: [links, 'at: new Date()'],
    message: /'at' does not exist in type '{ id: string; }'/,
  },
  {
    name: 'no caller gives a parameter of the statement',
    edits: [['prisma/sql/storage/revoke-link.sql', 'now()', ':at']],
    at: [links, '{ id })\n  return await findLink'],
    message: /Property 'at' is missing/,
  },
  {
    name: 'a parameter that callers give as null is not nullable',
    edits: [[`${projects}/list-expired-projects.sql`, ':id?', ':id']],
    at: ['services/deletion/purge-project.ts', 'id: after?.id'],
    message: /Type 'string \| null' is not assignable to type 'string'/,
  },
  {
    name: 'the row lacks a column that the caller reads',
    edits: [[`${projects}/find-other-owner.sql`, 'SELECT user_id', 'SELECT id']],
    at: [members, 'user_id })'],
    message: /Property 'user_id' does not exist on type 'FindOtherOwnerRow'/,
  },
  {
    name: 'a caller reads a column that is misspelt',
    edits: [[members, 'other.user_id', 'other.userid']],
    at: [members, 'userid })'],
    message: /Property 'userid' does not exist on type 'FindOtherOwnerRow'/,
  },
  {
    name: 'a statement with @one becomes @optional',
    edits: [[`${payments}/read-time.sql`, '@one', '@optional']],
    at: ['services/payments/clock.ts', 'now }'],
    message: /Property 'now' does not exist on type 'ReadTimeRow \| undefined'/,
  },
  {
    name: 'a caller calls a function that does not exist',
    edits: [['services/payments/clock.ts', 'sql.readTime(', 'sql.readTimes(']],
    at: ['services/payments/clock.ts', 'readTimes('],
    message: /Property 'readTimes' does not exist/,
  },
  {
    name: 'a sort key that the handler offers is removed',
    edits: [['prisma/sql/storage/list-links.sql', '-- @sort expires_at\nl.expires_at\n', '']],
    at: [links, '{ ...query, file_id: file.id }'],
    message: /'"expires_at"' is not assignable to type '"created_at" \| "updated_at"'/,
  },
  {
    name: 'a filter that the caller names is renamed',
    edits: [
      ['prisma/sql/chat/list-sessions.sql', '@filter title', '@filter name'],
      ['prisma/sql/chat/list-sessions.sql', ':title', ':name'],
    ],
    at: [sessions, 'title, ...rest, ...workspaces }'],
    message: /is not assignable to type 'string & NoFilterInSql<"title">'/,
  },
  {
    name: 'a filter that the caller takes from the query is renamed',
    edits: [
      [`${payments}/list-orders.sql`, '@filter status', '@filter state'],
      [`${payments}/list-orders.sql`, ':status', ':state'],
      [`${payments}/list-orders.sql`, '@total status', '@total state'],
      [`${payments}/list-orders.sql`, ':status', ':state'],
    ],
    at: ['services/payments/orders.ts', '{ ...query, ...filter }'],
    message: /Types of property 'status' are incompatible[^]*NoFilterInSql<"status">/,
  },
  {
    name: 'a @type is dropped',
    edits: [['prisma/sql/storage/link-columns.sql', `-- @type status Schemas['FileLink']['status']\n`, '']],
    at: [links, 'return await sql.insertLink'],
    message: /is not assignable to type/,
  },
]

export const sqlMistakes: SqlMistake[] = [
  ...inMigrations.map((mistake) => ({ ...mistake, edits: [] })),
  ...inFiles,
  ...inCallers.map((mistake) => ({ ...mistake, foundBy: 'compile' as const })),
]
