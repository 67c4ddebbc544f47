// Documents that are made to do harm end as text or with a reason, within the caps, and leave nothing.
import t from 'tap'
import { hostileDocuments } from '../support/hostile-documents.ts'
import { testHostileDocuments } from '../support/hostile-parsing.ts'

await testHostileDocuments(t, [...hostileDocuments.pdfs, ...hostileDocuments.archives])
