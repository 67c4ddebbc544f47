# A library in Python's standard library, with switches for seeded defects: `python3 library.py [DEFECT]`.
# Prints the port that it listens at. It ends when its standard input ends.
import json
import re
import sys
import threading
import uuid
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

DEFECT = sys.argv[1] if len(sys.argv) > 1 else None
UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'
KEYS = ['library-key-of-anna-01', 'library-key-of-berta-02']
authors = {}
books = {}
versions = {}


def has(defect):
    return DEFECT == defect


class Problem(Exception):
    def __init__(self, status, title):
        self.status = status
        self.title = title


def text_of(body, name, maximum):
    value = body.get(name)
    if not isinstance(value, str) or value == '':
        raise Problem(422, name + ' must be text')
    # Lengths count code points. Half a surrogate pair is no character.
    if len(value) > maximum and not (has('maxLength is not checked') and name == 'title'):
        raise Problem(422, name + ' is too long')
    if any('\ud800' <= character <= '\udfff' for character in value):
        raise Problem(422, name + ' is not Unicode')
    return value


def year_of(body):
    year = body.get('year')
    if year is None:
        return None
    if isinstance(year, float) and year.is_integer():
        year = int(year)
    if not isinstance(year, int) or isinstance(year, bool) or not 1400 <= year <= 2100:
        raise Problem(422, 'year must be from 1400 to 2100')
    return year


def isbn_of(body):
    isbn = body.get('isbn')
    if isbn is None:
        return None
    if not isinstance(isbn, str):
        raise Problem(422, 'isbn must be text')
    if not re.fullmatch('97[89][0-9]{10}', isbn) and not has('a pattern is not checked'):
        raise Problem(422, 'isbn must have 13 digits')
    return isbn


def shown(book):
    body = {name: value for name, value in book.items() if name != 'owner'}
    if has('a time has another format'):
        body['created_at'] = body['created_at'][:19]
    if has('a property is missing'):
        del body['isbn']
    return body


class Library(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    # Head and body leave in one packet.
    wbufsize = -1

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, headers=None):
        data = b'' if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            kind = 'json' if status < 400 else 'problem+json'
            self.send_header('Content-Type', 'application/' + kind)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(data)
        self.wfile.flush()

    def handle_request(self):
        length = int(self.headers.get('Content-Length') or 0)
        self.data = self.rfile.read(length)
        url = urlsplit(self.path)
        given = parse_qs(url.query, keep_blank_values=True)
        self.query = {name: values[-1] for name, values in given.items()}
        try:
            key = (self.headers.get('Authorization') or '').removeprefix('Bearer ')
            if key not in KEYS and not (has('every key is accepted') and key != ''):
                raise Problem(401, 'Unauthorized')
            self.owner = key
            parts = url.path.removeprefix('/api').strip('/').split('/')
            allowed = {
                ('authors', 1): {'GET': self.list_authors, 'POST': self.create_author},
                ('authors', 2): {'GET': self.get_author, 'DELETE': self.delete_author},
                ('books', 1): {'GET': self.list_books, 'POST': self.create_book},
                ('books', 2): {'GET': self.get_book, 'PATCH': self.update_book, 'DELETE': self.delete_book},
            }.get((parts[0], len(parts)))
            if allowed is None:
                raise Problem(404, 'Not found')
            if self.command not in allowed:
                problem = {'title': 'Not allowed', 'status': 405}
                return self.answer(405, problem, {'Allow': ', '.join(allowed)})
            allowed[self.command](*parts[1:])
        except Problem as problem:
            self.answer(problem.status, {'title': problem.title, 'status': problem.status})
        except Exception as error:
            self.answer(500, {'title': repr(error), 'status': 500})

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = handle_request

    def body(self):
        if not (self.headers.get('Content-Type') or '').startswith('application/json'):
            raise Problem(415, 'The body must be JSON')
        try:
            body = json.loads(self.data)
        except (ValueError, RecursionError) as error:
            if has('broken JSON is a server error'):
                raise error
            raise Problem(400, 'The body is no JSON')
        if not isinstance(body, dict):
            raise Problem(422, 'The body must be an object')
        return body

    def found(self, table, given):
        entry = table.get(given)
        if entry is None or entry['owner'] != self.owner:
            raise Problem(404, 'Not found')
        return entry

    def page(self, entries):
        numbers = {}
        for name, default, maximum in (('page', 1, 10 ** 9), ('per_page', 20, 50)):
            text = self.query.get(name, str(default))
            if not re.fullmatch('[0-9]{1,10}', text) or not 1 <= int(text) <= maximum:
                raise Problem(422, name + ' is no number in its range')
            numbers[name] = int(text)
        first = (numbers['page'] - 1) * numbers['per_page']
        if has('the second page is the first again') and numbers['page'] == 2:
            first = 0
        return entries[first:first + numbers['per_page']]

    def list_authors(self):
        own = [author for author in authors.values() if author['owner'] == self.owner]
        shown_ = [{'id': author['id'], 'name': author['name']} for author in own]
        self.answer(200, {'authors': self.page(shown_)})

    def create_author(self):
        author = {'id': str(uuid.uuid4()), 'name': text_of(self.body(), 'name', 80), 'owner': self.owner}
        authors[author['id']] = author
        self.answer(201, {'id': author['id'], 'name': author['name']})

    def get_author(self, given):
        author = self.found(authors, given)
        self.answer(200, {'id': author['id'], 'name': author['name']})

    def delete_author(self, given):
        del authors[self.found(authors, given)['id']]
        self.answer(204)

    def list_books(self):
        everything = has("another user's books are listed")
        own = [book for book in books.values() if everything or book['owner'] == self.owner]
        if 'author_id' in self.query and not has('a filter is ignored'):
            try:
                author = str(uuid.UUID(self.query['author_id']))
            except ValueError:
                raise Problem(422, 'author_id is no UUID')
            own = [book for book in own if book['author_id'] == author]
        own = [book for book in own if not book.get('deleted')]
        self.answer(200, {'books': self.page([shown(book) for book in own])})

    def create_book(self):
        body = self.body()
        author = body.get('author_id')
        if not isinstance(author, str) or not re.fullmatch(UUID, author):
            raise Problem(422, 'author_id must be a UUID')
        self.found(authors, author)
        book = {
            'id': str(uuid.uuid4()),
            'title': text_of(body, 'title', 100),
            'author_id': author,
            'year': year_of(body),
            'isbn': isbn_of(body),
            'created_at': datetime.now(timezone.utc).isoformat(),
            'owner': self.owner,
        }
        if has('a creation changes what was sent'):
            book['title'] = book['title'][:3]
        books[book['id']] = book
        versions[book['id']] = 1
        self.answer(201, shown(book))

    def tag(self, book):
        return '"%s"' % (1 if has('an ETag never changes') else versions[book['id']])

    def get_book(self, given):
        book = self.found(books, given)
        tag = self.tag(book)
        if self.headers.get('If-None-Match') == tag and not has('a 304 is never sent'):
            return self.answer(304, None, {'ETag': tag})
        self.answer(200, shown(book), {'ETag': tag})

    def update_book(self, given):
        book = self.found(books, given)
        body = self.body()
        match = self.headers.get('If-Match')
        if match is not None and match != self.tag(book) and not has('If-Match is ignored'):
            raise Problem(412, 'The book has changed')
        changed = dict(book)
        if 'title' in body:
            changed['title'] = text_of(body, 'title', 100)
        if 'year' in body or has('an update resets another property'):
            changed['year'] = year_of(body)
        versions[given] += 1
        if not has('an update is not stored'):
            books[given] = changed
        self.answer(200, shown(changed), {'ETag': self.tag(changed)})

    def delete_book(self, given):
        book = self.found(books, given)
        if has('a deleted book is still listed'):
            listed = dict(book)
            books['kept ' + given] = listed
        del books[book['id']]
        self.answer(204)


server = ThreadingHTTPServer(('127.0.0.1', 0), Library)
server.daemon_threads = True
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
