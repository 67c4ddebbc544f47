// Parsing malicious and badly damaged workbooks, books and messages ends within its limits, with a text or an
// error code, and leaves no process or file behind.
import t from 'tap'
import { hostileDocuments } from '../support/ai/hostile-documents.ts'
import { testHostileDocuments } from '../support/ai/hostile-parsing.ts'
import { isLongForm } from '../support/long-form.ts'

await testHostileDocuments(t, hostileDocuments.office, { isLongForm })
