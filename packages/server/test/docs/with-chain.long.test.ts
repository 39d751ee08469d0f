import { groups } from './pages.ts'
import { testPages } from './test-pages.ts'

await testPages(groups.withChain)
