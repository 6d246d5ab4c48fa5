import { toOpenApi } from '../../packages/sdk/src/wire/index.ts'
import { ROUTES } from '../../packages/service/src/api/routes/index.ts'
import { toModels } from './python-models.ts'
import { toRoutes, type Document } from './python-routes.ts'
import { toVenues } from './python-venues.ts'

/** Where the Python package is. */
export const PACKAGE = new URL('../../packages/python/src/priorbook/', import.meta.url)

/** The generated modules of the Python package by file name. */
export function generatedModules(): Readonly<Record<string, string>> {
  const document = toOpenApi(ROUTES) as unknown as Document
  return {
    'models.py': toModels(document.components.schemas),
    '_routes.py': toRoutes(document),
    '_venues.py': toVenues(),
  }
}
