// The runtime of the client (31fe4ec13e2d7e11), compiled from packages/client/ of the toolkit. Do not edit.
export interface ListInput {
    query?: Record<string, unknown>;
    /** The query as text, instead of `query`. */
    search?: string;
    signal?: AbortSignal;
}
/** How the pages of a list are read. */
export interface ListShape {
    /** The property with the items; null if the body is the list itself. */
    items: string | null;
    next: NextPage;
    /** The parameter of the page, which a cursor replaces. */
    page?: string;
}
/** Properties are named by their way in the body. */
export type NextPage = 
/** `from` has the cursor of the next page, unless `more` is false. */
{
    by: 'cursor';
    parameter: string;
    from: string[];
    more?: string[];
}
/** The id of the last item, while `more` is true. */
 | {
    by: 'after';
    parameter: string;
    id: string;
    more: string[];
}
/** The next number, until a page is empty or has fewer items than its limit, which is at most `maximum`. */
 | {
    by: 'page' | 'offset';
    parameter: string;
    first: number;
    limit?: string;
    size?: number;
    maximum?: number;
}
/** The link to the next page: of the property, or of the header `Link` (RFC 8288). */
 | {
    by: 'link';
    from?: string[];
};
export interface PageResult {
    data: any;
    response: Response;
}
type Fetch = (input: ListInput) => Promise<PageResult>;
/** The pages of a list, starting with the page in the query. */
export declare function pagesOf(shape: ListShape, input: ListInput, fetchPage: Fetch): AsyncGenerator<unknown, void, undefined>;
/** The items of all pages. */
export declare function itemsOf(shape: ListShape, input: ListInput, fetchPage: Fetch): AsyncGenerator<unknown, void, undefined>;
/**
 * The first page as a promise. As an iterator it yields the items of all pages, `pages()` the pages; both
 * start with the page that has been requested.
 */
export declare function listAnswer<Answer extends Promise<unknown>>(shape: ListShape, input: ListInput, first: {
    answer: Answer;
    result: Promise<PageResult>;
}, fetchPage: Fetch): Answer & AsyncIterable<unknown> & {
    pages(): AsyncGenerator<unknown, void, undefined>;
};
export {};
