import { COUNT, described, FILE_FORMATS, orNull, ROUTES, TEXT } from '../../wire/index.ts'
import { answerOf, defineTool, noticesOf, questionOf } from '../tool.ts'

const { query } = ROUTES.bulk

/** Where a file of rows can be downloaded. */
export const DOWNLOAD_LINK = defineTool({
  name: 'download_link',
  title: 'Link to a download',
  description:
    'Where all rows of a market or of a family of markets can be downloaded as one file, with its estimated size. The link needs the key as a header; the answer has a command that a person can run.',
  input: questionOf(query, [
    ...(['venue', 'market_id', 'asset', 'series', 'window', 'day', 'start_time'] as const),
    ...(['end_time', 'dataset', 'format', 'metric', 'feed'] as const),
  ]),
  output: answerOf({
    url: TEXT,
    command: described(TEXT, 'Downloads it; expects the key in PRIORBOOK_KEY.'),
    rows: orNull(COUNT),
    bytes: orNull(COUNT),
  }),
  async run({ format = 'parquet', ...scope }, { client, signal }) {
    // Archives of other tools have no estimate; their rows are those of any file.
    const known = FILE_FORMATS.find((one) => one === format)
    const params = { ...scope, formats: [known ?? 'ndjson'], estimate: true } as const
    const { data, notices } = await client.manifest(params, { signal })
    const file = data.files.find((one) => one.format === known)
    const url = client.downloadUrl({ ...scope, format })
    const header = client.isDemo ? '' : ' -H "Authorization: Bearer $PRIORBOOK_KEY"'
    return {
      url,
      command: `curl -f${header} -o ${scope.dataset ?? 'books'}.${format} '${url}'`,
      rows: data.rows,
      bytes: file?.bytes ?? null,
      notices: noticesOf(notices),
      more: null,
    }
  },
})
