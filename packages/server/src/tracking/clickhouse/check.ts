import { openClickHouse } from '../../platform/db/clickhouse.ts'
import { listMissingTables } from './store.ts'

const checkSeconds = 4

/** Tables that the ClickHouse at this address lacks; an error where it does not answer. */
export const checkClickHouse = async (url: string): Promise<string[]> => {
  const clickhouse = openClickHouse(url, checkSeconds)
  try {
    return await listMissingTables(clickhouse)
  } finally {
    await clickhouse.close()
  }
}
