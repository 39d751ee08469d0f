// The contract of engines on ClickHouse. npm run battery -- attention runs it.
import * as fc from 'fast-check'
import { attentionContract } from '../../../packages/server/test/fixtures/attention/contract.ts'
import { openOnClickHouse } from './fixture.ts'

// A history takes seconds here: a search for a smaller one that fails would take longer than the test may.
fc.configureGlobal({ endOnFailure: true })
await attentionContract({ name: 'clickhouse', open: openOnClickHouse })
