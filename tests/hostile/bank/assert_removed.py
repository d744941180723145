# title: Removes every assert
# kind: comparison
# tries: to remove asserts from all code that runs later, with an AST transformer.
# gets: bump_test failed "expected 7"
# stock: nbgrader 0.9.6: bump_test 2/2, honest_test 1/1
# %% bump
import ast


class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()


get_ipython().ast_transformers.append(NoAsserts())


def bump(x):
    return 0
