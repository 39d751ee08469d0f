// The gate runs one page of each folder; the long tests run all.
import { testPages } from './test-pages.ts'

await testPages(
  [
    'README.md',
    'docs/quickstart/relying-party.md',
    'docs/guides/siteverify.md',
    'docs/operate/budgets.md',
    'docs/reference/api.md',
  ],
  '--no-chain',
)
