import type { ServiceProcess } from '../service-process.ts'

/** Asks for a page: another node for every page, and the next one where a node is away. */
export async function askInTurn<Page>(
  nodes: readonly ServiceProcess[],
  key: string,
  page: number,
  path: string,
): Promise<Page> {
  for (let attempt = 0; ; attempt++) {
    try {
      const { url } = nodes[(page + attempt) % nodes.length]!
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as Page
    } catch (error) {
      if (attempt > 5) throw error
    }
  }
}
